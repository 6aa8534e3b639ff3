import { scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { ConfigurationError } from '../../protocol/errors.ts'

/** A kind of password hash that another library wrote. */
export interface OtherHash {
  /** A hash of this kind. It is verified for other accounts, which take as long then, and never matches. */
  readonly dummy: string
  /** Returns whether a stored hash is of this kind, and not too expensive to verify. */
  matches(passwordHash: string): boolean
  verify(password: string, passwordHash: string): Promise<boolean>
}

/** `better-auth` and `lucia` (versions 1 to 3, and oslo) are scrypt. `bcrypt` needs `@node-rs/bcrypt`. */
export type OtherHashName = 'better-auth' | 'lucia' | 'bcrypt'

/** Returns the kinds in `otherHashes`, with the work for scrypt done once. */
export function otherHashes(kinds: readonly (OtherHashName | OtherHash)[] = []): OtherHash[] {
  const formats = kinds.flatMap((kind) => (typeof kind === 'string' ? (SCRYPT[kind] ?? []) : []))
  return [
    ...(formats.length > 0 ? [scryptHash(formats)] : []),
    ...(kinds.includes('bcrypt') ? [bcryptHash()] : []),
    ...kinds.filter((kind) => typeof kind !== 'string'),
  ]
}

interface ScryptFormat {
  readonly pattern: RegExp
  /** The block size `r`. The cost `N` is always 16,384. */
  readonly blockSize: 8 | 16
}

const HEX = { pattern: /^(?<salt>[0-9a-f]{32}):(?<key>[0-9a-f]{128})$/, blockSize: 16 } as const
const SCRYPT: Readonly<Record<string, readonly ScryptFormat[]>> = {
  'better-auth': [HEX],
  lucia: [
    HEX,
    { pattern: /^s2:(?<salt>[0-9a-f]{32}|[0-9a-z]{16}):(?<key>[0-9a-f]{128})$/, blockSize: 16 },
    { pattern: /^(?<salt>[0-9a-z]{16}):(?<key>[0-9a-f]{128})$/, blockSize: 8 },
  ],
}

const derive: (password: string, salt: string, length: number, options: object) => Promise<unknown> =
  promisify(scrypt)

function scryptHash(formats: readonly ScryptFormat[]): OtherHash {
  async function hasKey(password: string, { salt, key }: Record<string, string>, blockSize: number) {
    const options = { N: 16_384, r: blockSize, p: 1, maxmem: 64 * 1024 * 1024 }
    const derived = await derive(password.normalize('NFKC'), salt ?? '', 64, options)
    return Buffer.isBuffer(derived) && timingSafeEqual(derived, Buffer.from(key ?? '', 'hex'))
  }
  return {
    dummy: `${'0'.repeat(32)}:${'0'.repeat(128)}`,
    matches: (passwordHash) => formats.some(({ pattern }) => pattern.test(passwordHash)),
    async verify(password, passwordHash) {
      const format = formats.find(({ pattern }) => pattern.test(passwordHash)) ?? HEX
      const { blockSize } = format
      const { groups = {} } = format.pattern.exec(passwordHash) ?? {}
      // Half the block size is half the work, which would reveal the account.
      if (blockSize === 8) await hasKey('', groups, blockSize)
      return hasKey(password, groups, blockSize)
    },
  }
}

/** From the least cost that is verified at all to about a second of work. */
const BCRYPT = /^\$2[aby]\$(?<cost>0[4-9]|1[0-4])\$[./A-Za-z0-9]{53}$/

async function loadBcrypt() {
  // Only in a `try` block does Turbopack build an app without the package.
  try {
    return await import('@node-rs/bcrypt')
  } catch (cause) {
    throw new ConfigurationError(
      'otherHashes: \'bcrypt\' needs @node-rs/bcrypt. Run "npm install @node-rs/bcrypt".',
      { cause },
    )
  }
}

function bcryptHash(): OtherHash {
  const loading = loadBcrypt()
  loading.catch(() => {})
  /** That of the latest account. An app has one cost, which this process doesn't know at first. */
  let cost = '10'
  return {
    get dummy() {
      return `$2b$${cost}$${'.'.repeat(53)}`
    },
    matches: (passwordHash) => BCRYPT.test(passwordHash),
    async verify(password, passwordHash) {
      const { verify } = await loading
      cost = BCRYPT.exec(passwordHash)?.groups?.cost ?? cost
      return verify(password, passwordHash)
    },
  }
}
