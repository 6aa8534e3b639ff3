import type { HostileKey } from '../hostile-key.ts'
import type { Random } from '../random.ts'
import type { Target } from '../target.ts'

/** A `kid` close to a known one, or one that a careless lookup would confuse. */
const KIDS: readonly ((kid: string) => unknown)[] = [
  (kid) => `${kid} `,
  (kid) => ` ${kid}`,
  (kid) => `${kid}\u0000`,
  (kid) => kid.slice(0, -1),
  (kid) => `${kid}=`,
  (kid) => kid.toLowerCase(),
  (kid) => kid.toUpperCase(),
  (kid) => [kid],
  (kid) => ({ kid }),
  (kid) => `../${kid}`,
  (kid) => `/dev/null\u0000${kid}`,
  (kid) => `' union select '${kid}' --`,
  (kid) => `https://evil.example/${kid}`,
  (kid) => kid.repeat(20),
  ...['', ' ', '*', '0', '__proto__', 'constructor', 'toString', 'size', 'null', '\ud800'].map(
    (kid) => () => kid,
  ),
  ...[null, 0, true, {}, []].map((kid) => () => kid),
]

/** Signs an otherwise valid token with a key that isn't accepted, or not under this name. */
export function swapKeys(random: Random, target: Target): string {
  const { ownKeys, retiredKeys, strangers, trustedKey } = target
  const [ed25519, es256] = ownKeys
  const signer = random.pick([...retiredKeys, ...strangers, trustedKey, ...ownKeys])
  const kid = random.pick<(key: HostileKey) => unknown>([
    ({ kid: own }) => own,
    ({ kid: own }) => random.pick(KIDS)(own),
    () => random.pick(ownKeys).kid,
    () => random.pick([...retiredKeys, ...strangers, trustedKey]).kid,
    ({ alg }) => (alg === 'ES256' ? ed25519 : es256).kid,
  ])(signer)
  const isRight = ownKeys.some((own) => own === signer && own.kid === kid)
  if (isRight) return swapKeys(random, target)
  return signer.seal(
    {
      alg: random.pick([signer.alg, signer.alg, 'Ed25519', 'ES256']),
      typ: random.pick(['at+jwt', 'at+jwt', 'JWT']),
      kid,
    },
    {
      ...target.claims(random.pick(target.live)),
      ...random.pick([{}, {}, { iss: 'https://id.example.com', sid: 's' }]),
    },
  )
}
