/**
 * Measures Step 1 against `jose.jwtVerify` on the same tokens with the same key in the same run. Prints calls
 * a second, one at a time: medians of five runs that alternate between the two.
 */

import { type Algorithm, defineAuthConfig, staticJwks, verifyJwt } from '@sallyport/core'
import { issueJwt, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { importJWK, jwtVerify } from 'jose'
import { alternate, type Comparison } from '../../../bench/compare.ts'
import { ALGORITHMS } from '../src/keys/key-set.ts'

const RUN_MS = Number(process.env.BENCH_SECONDS ?? 0.5) * 1_000
const TOKENS = 1_000

console.log(''.padEnd(36), 'verifyJwt/s'.padStart(12), 'jose/s'.padStart(10), 'ratio'.padStart(8))
for (const alg of ALGORITHMS) await compareAll(alg)

async function compareAll(alg: Algorithm): Promise<void> {
  const { active, publicJwks } = parseSigningKeys({ keys: [await createSigningKey(alg)] })
  const options = { baseUrl: 'https://app.example.com', jwks: staticJwks(publicJwks) }
  const remembering = defineAuthConfig(options)
  // Caches only the last token, so each token is new again in the next round.
  const forgetful = defineAuthConfig({ ...options, jwt: { cacheSize: 1 } })
  const tokens = []
  for (let i = 0; i < TOKENS; i++) {
    const session = { id: `s${i}`, userId: `u${i}`, expiresAt: new Date(Date.now() + 3_600_000) }
    tokens.push((await issueJwt(session, { key: active, config: remembering })).token)
  }

  const [jwk] = publicJwks.keys
  const key = await importJWK({ ...jwk }, alg)
  const { issuer, audience } = remembering
  const jose = (token: string) =>
    jwtVerify(token, key, { algorithms: [alg], issuer, audience, typ: 'at+jwt' })
  const cold = (token: string) => verifyJwt(token, forgetful)
  const cached = (token: string) => verifyJwt(token, remembering)

  const compare = (list: readonly string[], verify: typeof cold, isValid: boolean) =>
    alternate(
      () => rate(list, verify, isValid),
      () => rate(list, jose, isValid),
    )
  print(`${alg}: verify cold`, await compare(tokens, cold, true))
  print(`${alg}: verify cached`, await compare(tokens, cached, true))
  print(`${alg}: reject malformed`, await compare(tokens.map(malform), cold, false))
  print(`${alg}: reject a bad signature`, await compare(tokens.map(spoilSignature), cold, false))
}

/** Returns calls a second. Throws if a token isn't accepted or rejected as expected. */
async function rate(
  tokens: readonly string[],
  verify: (token: string) => Promise<unknown>,
  isValid: boolean,
): Promise<number> {
  const startedAt = performance.now()
  const endsAt = startedAt + RUN_MS
  let calls = 0
  while (performance.now() < endsAt) {
    for (const token of tokens) {
      const isAccepted = await verify(token).then(
        () => true,
        () => false,
      )
      if (isAccepted !== isValid) throw new Error(`A token was ${isAccepted ? 'accepted' : 'rejected'}`)
      calls++
    }
  }
  return (calls / (performance.now() - startedAt)) * 1_000
}

/** Makes a token that is rejected before cryptography: noise, two segments, `none`, `crit`, or padding. */
function malform(token: string, index: number): string {
  const [header = '', payload = '', signature = ''] = token.split('.')
  const members: object = JSON.parse(Buffer.from(header, 'base64url').toString())
  const seal = (changed: object) =>
    `${Buffer.from(JSON.stringify(changed)).toString('base64url')}.${payload}.${signature}`
  const kinds = [
    () => signature.repeat(5),
    () => `${header}.${payload}`,
    () => seal({ ...members, alg: 'none' }),
    () => seal({ ...members, crit: ['exp'] }),
    () => `${header}.${payload}=.${signature}=`,
  ]
  return kinds[index % kinds.length]?.() ?? ''
}

function spoilSignature(token: string): string {
  const start = token.lastIndexOf('.') + 1
  const bytes = Buffer.from(token.slice(start), 'base64url')
  bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40)
  return token.slice(0, start) + bytes.toString('base64url')
}

function print(name: string, { rate: ours, baselineRate, percent }: Comparison): void {
  const figures = [Math.round(ours).toString().padStart(12), Math.round(baselineRate).toString().padStart(10)]
  console.log(name.padEnd(36), ...figures, (percent / 100).toFixed(2).padStart(8))
}
