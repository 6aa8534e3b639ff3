import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import pLimit from 'p-limit'
import * as z from 'zod/mini'
import { AuthError } from '../../protocol/errors.ts'

/** OWASP Password Storage Cheat Sheet: argon2id (the library's default), 19 MiB, two passes, one lane. */
const ARGON2 = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const CURRENT_PARAMETERS = '$argon2id$v=19$m=19456,t=2,p=1$'

/** Each hash takes a core, 19 MiB, and a thread of Node's pool. One thread is left for other work. */
const THREADS = Number(process.env.UV_THREADPOOL_SIZE ?? 4) || 4
const queue = pLimit(Math.max(1, Math.min(availableParallelism(), THREADS - 1)))

/** Limits the wait to seconds. Unknown requesters fill at most half, so they can't lock out known ones. */
const MAX_QUEUE = { unknown: 100, known: 200 } as const

/** Known requesters have a session, or a device that signed in before. */
export type Requester = keyof typeof MAX_QUEUE

const MAX_PASSWORD_LENGTH = 256
export const MIN_PASSWORD_LENGTH = 8

/**
 * A password to verify: at most 256 Unicode characters. Lone surrogates are rejected: they all encode to the
 * same bytes, so they would equal each other.
 */
export const givenPassword: z.ZodMiniType<string> = z.string().check(
  // A character is one or two code units.
  z.maxLength(2 * MAX_PASSWORD_LENGTH),
  z.refine((password) => password.isWellFormed() && [...password].length <= MAX_PASSWORD_LENGTH),
)

/** A new password: 8 to 256 characters of any kind. */
export const newPassword: z.ZodMiniType<string> = givenPassword.check(
  z.refine((password) => [...password].length >= MIN_PASSWORD_LENGTH),
)

/** Returns a PHC string of argon2id. @throws AuthError `SESSIONS_UNAVAILABLE` if too many requesters wait */
export function hashPassword(password: string, requester: Requester = 'unknown'): Promise<string> {
  return enqueue(() => hash(password, ARGON2), requester)
}

/**
 * Returns whether a password matches a hash. Without an argon2 hash, verifies a dummy hash and returns false,
 * so an unknown account takes as long as a wrong password. @throws AuthError `SESSIONS_UNAVAILABLE`
 */
export async function verifyPassword(
  password: string,
  passwordHash: string | null,
  requester: Requester = 'unknown',
): Promise<boolean> {
  const isOurs = passwordHash?.startsWith('$argon2') === true
  const compared = isOurs ? passwordHash : await dummyHash()
  const isRight = await enqueue(() => verify(compared, password), requester)
  return isRight && isOurs
}

export function isOutdated(passwordHash: string): boolean {
  return !passwordHash.startsWith(CURRENT_PARAMETERS)
}

let creatingDummy: Promise<string> | undefined

/** Returns the hash for unknown accounts. Call it at startup, so the first sign-in doesn't create it. */
export function dummyHash(): Promise<string> {
  creatingDummy ??= hash(crypto.randomUUID(), ARGON2).catch((error: unknown) => {
    creatingDummy = undefined
    throw error
  })
  return creatingDummy
}

function enqueue<Result>(work: () => Promise<Result>, requester: Requester): Promise<Result> {
  if (queue.pendingCount >= MAX_QUEUE[requester])
    return Promise.reject(new AuthError('SESSIONS_UNAVAILABLE', { cause: new Error('Too many passwords') }))
  return queue(work)
}
