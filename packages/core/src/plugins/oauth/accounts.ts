import * as z from 'zod/mini'
import type { AuthKysely } from '../../database/schema/kysely-tables.ts'
import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { anyQuery, id, tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession } from '../../endpoints/renew-session.ts'
import type { UndoneChange } from '../../events/event.ts'
import { deleteChallenges } from '../../lifecycle/delete-challenges.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { sendNotice } from '../email-user.ts'
import { requireWayIn } from '../require-way-in.ts'
import { type AccountResponse, CREDENTIAL, usableAccounts } from '../usable-accounts.ts'
import { oauthError } from './errors.ts'
import type { Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'
import { rememberUnlinked } from './unlinked.ts'

/** Lists the caller's password and linked providers. */
export function listAccounts(settings: Settings): Endpoint<object, { accounts: AccountResponse[] }, false> {
  return defineEndpoint({
    ...ENDPOINTS.listAccounts,
    caller: 'user',
    input: anyQuery,
    output: z.object({
      accounts: z.array(z.object({ id: z.string(), provider: z.string(), createdAt: z.string() })),
    }),
    async run(_input, { identity: { userId }, database: { db } }) {
      return { body: { accounts: await offeredAccounts(db, userId, settings) } }
    },
  })
}

export interface UnlinkAccountInput {
  /** The `id` in `listAccounts`. */
  accountId: string
  /** Ends the user's other sessions, which this provider may have begun. @default true */
  revokeOtherSessions?: boolean
}

/** Unlinks a provider, unless it is the last way in, and replaces this session's credentials. */
export function unlinkAccount(settings: Settings): Endpoint<UnlinkAccountInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.unlinkAccount,
    caller: 'fresh-user',
    setsCookies: true,
    input: z.strictObject({ accountId: id, revokeOtherSessions: z.exactOptional(z.boolean()) }),
    output: tokens,
    async run({ accountId, revokeOtherSessions = true }, context) {
      const { userId } = context.identity
      const at = context.config.now()
      let provider = ''
      const work = async (trx: AuthTransaction, record: RecordEvent) => {
        const accounts = trx.selectFrom('account').select('providerId').where('id', '=', accountId)
        const ofUser = accounts.where('userId', '=', userId).where('providerId', '!=', CREDENTIAL)
        const account = await ofUser.executeTakeFirst()
        if (account === undefined) throw oauthError('ACCOUNT_NOT_FOUND')
        provider = account.providerId
        await deleteAccounts(trx, [{ id: accountId, userId, provider }], at)
        await requireWayIn(userId, trx, context)
        await deleteChallenges(trx, userId)
        record({ type: 'oauth:account-unlinked', userId, actorId: null, at, detail: { provider } })
      }
      const renewed = await renewSession(context, {
        cause: 'factor-removed',
        revokeOthers: revokeOtherSessions && 'factor-changed',
        work,
      })
      sendNotice({ kind: 'account-unlinked', provider }, { userId, context, settings })
      return renewed
    },
  })
}

/** Unlinks the providers that an attacker may have linked. */
export async function removeAdded(
  { userId, addedSince, at }: UndoneChange,
  trx: AuthTransaction,
): Promise<void> {
  const accounts = trx.selectFrom('account').select(['id', 'providerId']).where('userId', '=', userId)
  const added = accounts.where('providerId', '!=', CREDENTIAL).where('createdAt', '>=', addedSince)
  const removed = (await added.execute()).map(({ id, providerId: provider }) => ({ id, userId, provider }))
  if (removed.length > 0) await deleteAccounts(trx, removed, at)
}

type Removed = { id: string; userId: string; provider: string }

async function deleteAccounts(trx: AuthTransaction, removed: readonly Removed[], now: Date): Promise<void> {
  const ids = removed.map(({ id }) => id)
  // The app's own connection may not enforce foreign keys.
  for (const table of ['oauthToken', 'oauthCode'] as const)
    await withOwnTables(trx).deleteFrom(table).where('accountId', 'in', ids).execute()
  await trx.deleteFrom('account').where('id', 'in', ids).execute()
  for (const { userId, provider } of removed) await rememberUnlinked(trx, { userId, provider, now })
}

/** Returns whether a user has linked a provider that the app offers. */
export async function hasProvider(userId: string, db: AuthKysely, settings: Settings): Promise<boolean> {
  const accounts = await offeredAccounts(db, userId, settings)
  return accounts.some(({ provider }) => provider !== CREDENTIAL)
}

/** Leaves out providers that the app doesn't offer anymore. */
async function offeredAccounts(db: AuthKysely, userId: string, { providers }: Settings) {
  const accounts = await usableAccounts(db, userId)
  return accounts.filter(({ provider }) => provider === CREDENTIAL || Object.hasOwn(providers, provider))
}
