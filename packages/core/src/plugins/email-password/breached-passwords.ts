import { readLimited } from '../../protocol/read-limited.ts'
import { type CheckPassword, emailPasswordError } from './settings.ts'

/** Options of {@link breachedPasswords}. */
export interface BreachedPasswordsOptions {
  /** The URL that the five digits are appended to. @default 'https://api.pwnedpasswords.com/range/' */
  readonly url?: string
  /** @default the global `fetch` */
  readonly fetch?: typeof globalThis.fetch
}

const DEFAULT_URL = 'https://api.pwnedpasswords.com/range/'
const TIMEOUT_MS = 1_000
/** A padded response has some 1,000 lines of 40 bytes. */
const MAX_BYTES = 1_000_000
const PREFIX_LENGTH = 5

/**
 * Rejects passwords that are known from data breaches with `PASSWORD_BREACHED`. Queries a service with
 * the range protocol of Have I Been Pwned, which learns only the first 5 hexadecimal digits of the password's
 * SHA-1. If the service doesn't respond within a second, the password passes, and `onEvent` gets
 * `email-password:check-skipped`.
 *
 * @example emailPassword({ checkPassword: breachedPasswords() })
 */
export function breachedPasswords({
  url = DEFAULT_URL,
  fetch = globalThis.fetch,
}: BreachedPasswordsOptions = {}): CheckPassword {
  async function countBreaches(hash: string): Promise<number> {
    const response = await fetch(`${url}${hash.slice(0, PREFIX_LENGTH)}`, {
      // Without it, the length of the response reveals to an observer which range was requested.
      headers: { 'add-padding': 'true' },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (!response.ok) throw new Error(`The service responded with ${response.status}`)
    return findCount(await readLimited(response.body, MAX_BYTES), hash.slice(PREFIX_LENGTH))
  }

  return async function checkBreaches({ password, reportSkipped }) {
    const hash = await sha1(password)
    const count = await countBreaches(hash).catch((error: unknown) => {
      reportSkipped(causeOf(error))
      return 0
    })
    if (count > 0) throw emailPasswordError('PASSWORD_BREACHED')
  }
}

/** Returns how often the rest of a hash was seen: 0 if it isn't listed, and for padding. */
function findCount(text: string, rest: string): number {
  const lines = text.split('\n').map((line) => /^([0-9A-F]{35}):(\d+)\s*$/i.exec(line))
  if (lines.every((line) => line === null)) throw new Error('The service did not respond with a range')
  const found = lines.find((line) => line?.[1]?.toUpperCase() === rest)
  return Number(found?.[2] ?? 0)
}

/** Describes an error. `fetch` keeps the reason in the cause. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, cause } = error
  if (!(cause instanceof Error)) return message
  // An `AggregateError`, one error for each address of the host, has only a code.
  return `${message}: ${'code' in cause ? cause.code : cause.message}`
}

async function sha1(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text))
  return Buffer.from(digest).toString('hex').toUpperCase()
}
