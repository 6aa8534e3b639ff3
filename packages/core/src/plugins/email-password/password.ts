import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import pLimit from 'p-limit'
import * as z from 'zod'
import { AuthError } from '../../protocol/errors.ts'

/** OWASP Password Storage Cheat Sheet: argon2id, which is the library's default, with 19 MiB, two passes, one lane. */
const ARGON2 = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const CURRENT_PARAMETERS = '$argon2id$v=19$m=19456,t=2,p=1$'

/** Each takes a core, 19 MiB and a thread of Node's pool, of which one is left to everyone else. */
const THREADS = Number(process.env.UV_THREADPOOL_SIZE ?? 4) || 4
const atOnce = pLimit(Math.max(1, Math.min(availableParallelism(), THREADS - 1)))

/**
 * Whoever comes after so many others have lined up would wait for seconds. Strangers fill half of the line at most, so that they cannot
 * keep out those whom we know.
 */
const LONGEST_QUEUE = { stranger: 100, known: 200 } as const

/** Whether the password is given by someone of whom we know something: a session, or a device that signed in before. */
export type Asker = keyof typeof LONGEST_QUEUE

const MAX_PASSWORD_LENGTH = 256
/** The fewest characters of a new password. */
export const MIN_PASSWORD_LENGTH = 8

/**
 * A password that may be right: text of at most 256 characters, as a person counts them. Half a character has no bytes of its own and
 * would equal any other half.
 */
export const givenPassword: z.ZodType<string> = z
  .string()
  // A character is one or two units.
  .max(2 * MAX_PASSWORD_LENGTH)
  .refine((password) => password.isWellFormed() && characters(password) <= MAX_PASSWORD_LENGTH)

/** A password that may be chosen: 8 to 256 characters of any kind. */
export const newPassword: z.ZodType<string> = givenPassword.refine(
  (password) => characters(password) >= MIN_PASSWORD_LENGTH,
)

function characters(password: string): number {
  return [...password].length
}

/** A PHC string of argon2id. The whole password counts. */
export function hashPassword(password: string, asker: Asker = 'stranger'): Promise<string> {
  return inTurn(() => hash(password, ARGON2), asker)
}

/**
 * Whether a password is the one of this hash. Where there is no hash another is verified and the answer is no, so that an
 * unknown account takes as long as a wrong password. A hash of another kind than argon2 counts as none.
 */
export async function verifyPassword(
  password: string,
  passwordHash: string | null,
  asker: Asker = 'stranger',
): Promise<boolean> {
  const isOurs = passwordHash?.startsWith('$argon2') === true
  const compared = isOurs ? passwordHash : await nobodysHash()
  const isRight = await inTurn(() => verify(compared, password), asker)
  return isRight && isOurs
}

/** Whether a hash was made with other parameters than today's. */
export function isOutdated(passwordHash: string): boolean {
  return !passwordHash.startsWith(CURRENT_PARAMETERS)
}

let nobodys: Promise<string> | undefined

/** Made before the first sign-in could need it; see {@link verifyPassword}. */
export async function nobodysHash(): Promise<string> {
  nobodys ??= hash(crypto.randomUUID(), ARGON2)
  try {
    return await nobodys
  } catch (error) {
    nobodys = undefined
    throw error
  }
}

/** @throws AuthError `SESSIONS_UNAVAILABLE` when too many wait */
function inTurn<Result>(work: () => Promise<Result>, asker: Asker): Promise<Result> {
  if (atOnce.pendingCount >= LONGEST_QUEUE[asker])
    return Promise.reject(new AuthError('SESSIONS_UNAVAILABLE', { cause: new Error('Too many passwords') }))
  return atOnce(work)
}
