import * as z from 'zod/mini'
import type { AuthTransaction } from '../database/session-database.ts'
import { lockValidUser, type NewSessionOptions } from '../lifecycle/create-session.ts'
import { reject } from '../protocol/endpoint-error.ts'
import type { SignInChallenge } from '../protocol.ts'
import { createSecret, hashSecret } from '../session/secret.ts'
import type { EndpointContext } from './endpoint.ts'

/** How long the user has to prove the second factor. */
const LIFETIME_SECONDS = 10 * 60

/** Challenges of a user at once. The oldest ends. */
const MAX_CHALLENGES = 10

/** Wrong codes, after which a challenge ends. */
const MAX_ATTEMPTS = 5

interface NewChallenge
  extends Pick<NewSessionOptions, 'acr' | 'amr' | 'authorize' | 'rememberMe' | 'userId'> {
  methods: readonly string[]
}

/** Stores a sign-in that a second factor must complete. */
export async function createChallenge(
  { userId, methods, authorize, amr = [], acr = null, rememberMe: remembered = true }: NewChallenge,
  { config, change }: EndpointContext,
): Promise<SignInChallenge> {
  const token = createSecret()
  const id = await hashSecret(token)
  const now = config.now()
  await change(async (trx) => {
    await lockValidUser(trx, userId, now)
    await authorize?.(trx)
    const query = trx.selectFrom('sallyport.challenge').select('id').where('userId', '=', userId)
    const newest = await query
      .orderBy('expiresAt', 'desc')
      .limit(MAX_CHALLENGES - 1)
      .execute()
    const kept = newest.map((challenge) => challenge.id)
    const older = trx.deleteFrom('sallyport.challenge').where('userId', '=', userId)
    await older.$if(kept.length > 0, (query) => query.where('id', 'not in', kept)).execute()
    const expiresAt = new Date(now.getTime() + LIFETIME_SECONDS * 1000)
    const row = { id, userId, amr: JSON.stringify(amr), acr, remembered, attempts: 0, expiresAt }
    await trx.insertInto('sallyport.challenge').values(row).execute()
  })
  return { token, methods, expiresIn: LIFETIME_SECONDS }
}

/** A sign-in whose first factor was proved. */
export interface OpenChallenge {
  readonly id: string
  readonly userId: string
  readonly amr: readonly string[]
  readonly acr: string | null
  readonly rememberMe: boolean
}

/**
 * Finds a challenge and consumes one of its attempts.
 * @throws EndpointError `CHALLENGE_INVALID` if it has expired, was used, or has no attempts left; AuthError
 * `ACCOUNT_BANNED`
 */
export async function attemptChallenge(
  token: string,
  { config, change }: EndpointContext,
): Promise<OpenChallenge> {
  const id = await hashSecret(token)
  return change(async (trx) => {
    const query = trx.selectFrom('sallyport.challenge').select('userId').where('id', '=', id)
    const userId = (await query.executeTakeFirst())?.userId
    if (userId === undefined) throw reject('CHALLENGE_INVALID')
    // Every change locks the user first, so two never deadlock.
    await lockValidUser(trx, userId, config.now())
    const update = trx
      .updateTable('sallyport.challenge')
      .set(({ eb }) => ({ attempts: eb('attempts', '+', 1) }))
    const matching = update.where('id', '=', id).where('expiresAt', '>', config.now())
    const found = await matching.where('attempts', '<', MAX_ATTEMPTS).returningAll().executeTakeFirst()
    if (found === undefined) throw reject('CHALLENGE_INVALID')
    const { acr, remembered } = found
    return {
      id,
      userId,
      amr: z.parse(z.array(z.string()), JSON.parse(found.amr)),
      acr,
      rememberMe: Boolean(remembered),
    }
  })
}

/**
 * Ends a challenge in the transaction that begins its session.
 * @throws EndpointError `CHALLENGE_INVALID` if it was used meanwhile
 */
export async function consumeChallenge(trx: AuthTransaction, id: string): Promise<void> {
  const { numDeletedRows } = await trx
    .deleteFrom('sallyport.challenge')
    .where('id', '=', id)
    .executeTakeFirst()
  if (numDeletedRows === 0n) throw reject('CHALLENGE_INVALID')
}
