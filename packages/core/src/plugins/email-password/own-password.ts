import * as z from 'zod/mini'
import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import type { GiveBack } from '../../endpoints/attempts.ts'
import {
  type AuthorizedContext,
  defineEndpoint,
  type Endpoint,
  type EndpointContext,
} from '../../endpoints/endpoint.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession, requireSessionSecret } from '../../endpoints/renew-session.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { sendNotice } from '../email-user.ts'
import { giveBackInOutage } from '../internal.ts'
import { findPasswordAccount, type PasswordAccount, requirePassword, setPassword } from './accounts.ts'
import { countConfirmation } from './attempts.ts'
import { deleteOtherDevices, readDevice } from './known-device.ts'
import { deleteLinks } from './links.ts'
import { givenPassword, newPassword, type Requester, verifyPassword } from './password.ts'
import { hashNewPassword, type Settings, wrongPassword } from './settings.ts'
import { recordFailure } from './sign-in.ts'

export interface ChangePasswordInput {
  currentPassword: string
  newPassword: string
  /** @default true */
  revokeOtherSessions?: boolean
}

/** Changes the caller's password, replaces this session's credentials, and ends the other sessions. */
export function changePassword(settings: Settings): Endpoint<ChangePasswordInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.changePassword,
    caller: 'user',
    setsCookies: true,
    input: z.strictObject({
      currentPassword: givenPassword,
      newPassword,
      revokeOtherSessions: z.exactOptional(z.boolean()),
    }),
    output: tokens,
    async run({ currentPassword, newPassword, revokeOtherSessions = true }, context) {
      const { id: userId, name, email } = context.session.user
      const user = { id: userId, name, email }
      const current = await confirmPassword(currentPassword, context, settings)
      const now = context.config.now()
      const { onEvent } = context.database
      const asOwner = { user, rules: settings, now, onEvent, requester: 'known' } as const
      const password = await hashNewPassword(newPassword, asOwner)
      const device = await readDevice(context)
      const work = async (trx: AuthTransaction, record: RecordEvent) => {
        await requirePassword(trx, { ...current, now })
        await setPassword(trx, { userId, password, now })
        await deleteLinks(trx, { userId, kinds: ['reset-password'] })
        await deleteOtherDevices(trx, { userId, device })
        record({ type: 'user.password-changed', userId, actorId: null, at: now })
      }
      const renewed = await renewSession(context, {
        cause: 'password-changed',
        methods: ['pwd'],
        revokeOthers: revokeOtherSessions && 'password-changed',
        work,
      })
      sendNotice({ kind: 'password-changed' }, { userId, context, settings })
      return renewed
    },
  })
}

/** Makes a session fresh. Replaces its credentials, so only the caller's are fresh. The session id stays. */
export function reauthenticate(settings: Settings): Endpoint<{ password: string }, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.reauthenticate,
    caller: 'user',
    setsCookies: true,
    input: z.strictObject({ password: givenPassword }),
    output: tokens,
    async run({ password }, context) {
      const current = await confirmPassword(password, context, settings)
      const now = context.config.now()
      const work = (trx: AuthTransaction) => requirePassword(trx, { ...current, now })
      return renewSession(context, { cause: 'reauthenticated', methods: ['pwd'], work })
    },
  })
}

/**
 * Returns the account whose password was verified.
 * @throws EndpointError `SESSION_SECRET_REQUIRED` before it verifies, or `INVALID_CREDENTIALS`
 */
async function confirmPassword(
  password: string,
  context: AuthorizedContext,
  settings: Settings,
): Promise<PasswordAccount> {
  const { userId } = context.identity
  await requireSessionSecret(context)
  const giveBack = await countConfirmation(context, settings.limits)
  return verifyOwnPassword({ userId, password, requester: 'known', giveBack }, context, settings)
}

interface OwnPassword {
  readonly userId: string
  readonly password: string
  readonly requester: Requester
  /** Gives the attempt back, which was counted before. */
  readonly giveBack: GiveBack
}

/**
 * Returns the account whose password was verified.
 * @throws EndpointError `INVALID_CREDENTIALS`
 */
export async function verifyOwnPassword(
  { userId, password, requester, giveBack }: OwnPassword,
  context: EndpointContext,
  { others }: Pick<Settings, 'others'>,
): Promise<PasswordAccount> {
  const now = context.config.now()
  const account = await findPasswordAccount(context.database.db, { column: 'user.id', value: userId, now })
  const isRight = await verifyPassword(password, account?.password ?? null, { requester, others }).catch(
    giveBackInOutage(giveBack),
  )
  if (account !== null && isRight) return account
  await recordFailure(userId, 'INVALID_CREDENTIALS', context)
  throw wrongPassword()
}
