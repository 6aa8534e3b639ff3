import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import pLimit from 'p-limit'
import * as z from 'zod/mini'
import { Fault } from '../../events/failure-code.ts'
import { AuthError } from '../../protocol/errors.ts'
import type { OtherHash } from './other-hashes.ts'

/** OWASP Password Storage Cheat Sheet: argon2id (the library's default), 19 MiB, two passes, one lane. */
const ARGON2 = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const CURRENT_PARAMETERS = '$argon2id$v=19$m=19456,t=2,p=1$'

let queue: ReturnType<typeof pLimit> | undefined

/** Each hash takes a core, 19 MiB, and a thread of Node's pool. One thread is left for other work. */
function createQueue(): ReturnType<typeof pLimit> {
  const threads = Number(process.env.UV_THREADPOOL_SIZE ?? 4) || 4
  return pLimit(Math.max(1, Math.min(availableParallelism(), threads - 1)))
}

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

interface VerifyOptions {
  /** @default 'unknown' */
  readonly requester?: Requester | undefined
  /** Hashes of other libraries. @default none */
  readonly others?: readonly OtherHash[]
}

/**
 * Returns whether a password matches a hash. Verifies a dummy hash of every other kind, so an unknown account
 * takes as long as a wrong password. @throws AuthError `SESSIONS_UNAVAILABLE`
 */
export async function verifyPassword(
  password: string,
  passwordHash: string | null,
  { requester = 'unknown', others = [] }: VerifyOptions = {},
): Promise<boolean> {
  const ours = { dummy: await dummyHash(), matches: isAffordable, verify: verifyArgon2 }
  const kinds: OtherHash[] = [ours, ...others]
  const found = passwordHash === null ? undefined : kinds.find(({ matches }) => matches(passwordHash))
  return enqueue(async () => {
    let isRight = false
    for (const kind of kinds) {
      const isKind = kind === found && passwordHash !== null
      const isMatch = await kind.verify(password, isKind ? passwordHash : kind.dummy)
      if (isKind) isRight = isMatch
    }
    return isRight
  }, requester)
}

const verifyArgon2 = (password: string, passwordHash: string) => verify(passwordHash, password)

/** How much memory and work a stored hash may cost: several times ours. */
const MAX_ARGON2 = { memoryCost: 262_144, timeCost: 16, parallelism: 16, work: 1_048_576 }

/** Returns whether a hash is argon2, and verifying it can't exhaust the server. */
function isAffordable(passwordHash: string): boolean {
  const [, ...costs] = /^\$argon2(?:id|i|d)\$v=\d+\$m=(\d+),t=(\d+),p=(\d+)\$/.exec(passwordHash) ?? []
  const [memoryCost = Number.NaN, timeCost = Number.NaN, parallelism = Number.NaN] = costs.map(Number)
  return (
    memoryCost <= MAX_ARGON2.memoryCost &&
    timeCost <= MAX_ARGON2.timeCost &&
    parallelism <= MAX_ARGON2.parallelism &&
    memoryCost * timeCost <= MAX_ARGON2.work
  )
}

/** Returns whether a hash has old parameters, or comes from another library. */
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
  queue ??= createQueue()
  if (queue.pendingCount >= MAX_QUEUE[requester])
    return Promise.reject(
      new AuthError('SESSIONS_UNAVAILABLE', {
        cause: new Fault('PASSWORD_QUEUE_FULL', 'Too many passwords'),
      }),
    )
  return queue(work)
}
