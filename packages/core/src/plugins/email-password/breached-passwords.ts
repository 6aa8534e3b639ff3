import { hash } from 'node:crypto'
import { readLimited } from '../../protocol/read-limited.ts'
import { type CheckPassword, emailPasswordError } from './settings.ts'

export interface BreachedPasswordsOptions {
  /** The URL that the five digits are appended to. @default 'https://api.pwnedpasswords.com/range/' */
  readonly url?: string
  /** @default the global `fetch` */
  readonly fetch?: typeof globalThis.fetch
}

const TIMEOUT_MS = 1_000
/** A padded response has some 1,000 lines of 40 bytes. */
const MAX_BYTES = 1_000_000
const PREFIX_LENGTH = 5

/**
 * Rejects passwords from data breaches with `PASSWORD_BREACHED`. Queries a service with the range protocol of
 * Have I Been Pwned, which learns only 5 hexadecimal digits of the password's SHA-1. If it doesn't respond
 * within a second, the password passes, and `onEvent` gets `email-password:check-skipped`.
 * @example emailPassword({ checkPassword: breachedPasswords() })
 */
export function breachedPasswords({
  url = 'https://api.pwnedpasswords.com/range/',
  fetch = globalThis.fetch,
}: BreachedPasswordsOptions = {}): CheckPassword {
  async function countBreaches(sha1: string): Promise<number> {
    const response = await fetch(`${url}${sha1.slice(0, PREFIX_LENGTH)}`, {
      // Without it, the length of the response reveals to an observer which range was requested.
      headers: { 'add-padding': 'true' },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (!response.ok) throw new Error(`The service responded with ${response.status}`)
    return findCount(await readLimited(response.body, MAX_BYTES), sha1.slice(PREFIX_LENGTH))
  }

  return async function checkBreaches({ password, reportSkipped }) {
    const sha1 = hash('sha1', password).toUpperCase()
    const count = await countBreaches(sha1).catch((error: unknown) => {
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
