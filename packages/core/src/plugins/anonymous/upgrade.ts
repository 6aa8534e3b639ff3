import * as z from 'zod/mini'
import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import { rememberBrowser } from '../../endpoints/browser-memory.ts'
import { type AuthorizedContext, defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession } from '../../endpoints/renew-session.ts'
import { userName } from '../../endpoints/user-record.ts'
import { commit } from '../../lifecycle/commit.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { isDuplicate } from '../../session/conflict.ts'
import { setPassword } from '../email-password/accounts.ts'
import { countAddress } from '../email-password/attempts.ts'
import { isReserved } from '../email-password/links.ts'
import { newPassword } from '../email-password/password.ts'
import {
  emailPasswordError,
  hashNewPassword,
  type Settings as PasswordSettings,
} from '../email-password/settings.ts'
import { sendChangeLink, sendVerification } from '../email-password/unverified.ts'
import { emailAddress } from '../internal.ts'
import { requireAnonymous } from './require-anonymous.ts'
import { anonymousError, type Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

export interface UpgradeAnonymousInput {
  name: string
  email: string
  password: string
}

/**
 * Gives the caller, who is anonymous, an email and a password. The user keeps their id, and the session gets
 * new credentials. With `requireVerified`, the email is set once the user has opened the link that it got, so
 * the response doesn't reveal whether it is taken.
 */
export function upgradeAnonymous({
  password: settings,
}: Settings): Endpoint<UpgradeAnonymousInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.upgradeAnonymous,
    caller: 'user',
    setsCookies: true,
    input: z.strictObject({ name: userName, email: emailAddress, password: newPassword }),
    output: tokens,
    async run({ name, email, password }, context) {
      if (settings === null) throw anonymousError('UPGRADE_UNAVAILABLE')
      const { userId } = context.identity
      await countAddress(context, settings.limits)
      const now = context.config.now()
      const user = { id: userId, name, email }
      const { onEvent } = context.database
      const passwordHash = await hashNewPassword(password, { user, rules: settings, now, onEvent })
      const work = async (trx: AuthTransaction, record: RecordEvent) => {
        await requireAnonymous(userId, trx)
        // The email could be mistyped, or someone else's. The link in it ends `isAnonymous`.
        const own = { name, isAnonymous: settings.requireVerified ?? false, updatedAt: now }
        await withOwnTables(trx).updateTable('user').set(own).where('id', '=', userId).execute()
        if (!settings.requireVerified) await setEmail(trx, { userId, email, now }, settings)
        await setPassword(trx, { userId, password: passwordHash, now })
        record({ type: 'anonymous:upgraded', userId, actorId: null, at: now })
      }
      const renewed = await renewSession(context, { cause: 'factor-added', methods: ['pwd'], work })
      sendLink(user, context, settings)
      const { body, cookies } = renewed
      const { sessionId } = context.identity
      const known = await rememberBrowser({ userId, sessionId }, context)
      return { body, cookies: [...cookies, ...known] }
    },
  })
}

/** @throws EndpointError `EMAIL_TAKEN` */
async function setEmail(
  trx: AuthTransaction,
  { userId, email, now }: { userId: string; email: string; now: Date },
  { undoEmailChange }: PasswordSettings,
): Promise<void> {
  const update = trx.updateTable('user').set({ email }).where('id', '=', userId)
  await update.execute().catch((error: unknown) => {
    throw isDuplicate(error) ? emailPasswordError('EMAIL_TAKEN') : error
  })
  if (undoEmailChange && (await isReserved(trx, { email, userId, now })))
    throw emailPasswordError('EMAIL_TAKEN')
}

function sendLink(
  user: { id: string; name: string; email: string },
  context: AuthorizedContext,
  settings: PasswordSettings,
): void {
  if (settings.sendEmail === undefined) return
  // The session has a new version, so `context.change` would reject its identity.
  const { database } = context
  const renewed = { ...context, change: ((work) => commit(database, work)) satisfies typeof context.change }
  if (settings.requireVerified) sendChangeLink(user, renewed, settings)
  else sendVerification(user.id, renewed, settings)
}
