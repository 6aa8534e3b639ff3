import * as z from 'zod/mini'
import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { anyQuery, noFields, tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession, requireSessionSecret } from '../../endpoints/renew-session.ts'
import { requireSecondFactor } from '../../endpoints/require-second-factor.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { sendNotice } from './notices.ts'
import {
  code,
  createTotpSecret,
  ownerOf,
  proveCode,
  requireEncryptionKeys,
  requireProvedApp,
  toUri,
} from './prove.ts'
import { replaceRecoveryCodes } from './recovery-codes.ts'
import { enabledSince, removeTotp, trustedDevices } from './second-factor.ts'
import { type Settings, totpError } from './settings.ts'
import { withOwnTables } from './tables.ts'

export interface TotpResponse {
  /** When the user set it up, as ISO 8601; null if they haven't. */
  enabledAt: string | null
  /** How many recovery codes are left. */
  recoveryCodes: number
}

export interface EnableTotpResponse {
  /** `otpauth://…`, for a QR code. Contains the secret: show it once, and never log it. */
  uri: string
  /** The secret in base32, for apps that can't scan. */
  secret: string
}

export interface RecoveryCodesResponse extends TokenResponse {
  /** Each completes one sign-in. They can't be shown again. */
  recoveryCodes: string[]
}

const codes: z.ZodMiniType<RecoveryCodesResponse> = z.intersection(
  tokens,
  z.object({ recoveryCodes: z.array(z.string()) }),
)

/** Returns whether the caller has set up an authenticator app. */
export const getTotp: Endpoint<object, TotpResponse, false> = defineEndpoint({
  ...ENDPOINTS.getTotp,
  caller: 'user',
  input: anyQuery,
  output: z.object({ enabledAt: z.nullable(z.string()), recoveryCodes: z.number() }),
  async run(_input, { identity: { userId }, database: { db } }) {
    const enabledAt = await enabledSince(userId, db)
    const query = withOwnTables(db).selectFrom('recoveryCode').select('id').where('userId', '=', userId)
    const body = {
      enabledAt: enabledAt?.toISOString() ?? null,
      recoveryCodes: (await query.execute()).length,
    }
    return { body }
  },
})

/** Creates a secret, which `confirmTotp` puts into effect. Replaces one that was never confirmed. */
export function enableTotp(settings: Settings): Endpoint<object, EnableTotpResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.enableTotp,
    caller: 'fresh-user',
    input: noFields,
    output: z.object({ uri: z.string(), secret: z.string() }),
    async run(_input, context) {
      await requireSecondFactor(context)
      const { userId } = context.identity
      const secret = createTotpSecret()
      const encrypted = await requireEncryptionKeys(context).encrypt(secret, ownerOf(userId))
      const createdAt = context.config.now()
      await context.change(async (trx) => {
        await requireSecondFactor(context, trx)
        if ((await enabledSince(userId, trx)) !== null) throw totpError('TOTP_ENABLED')
        const rows = withOwnTables(trx)
        await rows.deleteFrom('totp').where('userId', '=', userId).execute()
        const row = { userId, secret: encrypted, confirmedAt: null, lastStep: 0, createdAt }
        await rows.insertInto('totp').values(row).execute()
      })
      return { body: { uri: toUri(secret, settings, context.session.user.email), secret } }
    },
  })
}

export interface ConfirmTotpInput {
  /** The first code of the authenticator app. */
  code: string
  /** Ends the user's other sessions, which have no second factor. @default false */
  revokeOtherSessions?: boolean
}

/** Sets up the authenticator app, replaces this session's credentials, and returns recovery codes. */
export function confirmTotp(settings: Settings): Endpoint<ConfirmTotpInput, RecoveryCodesResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.confirmTotp,
    caller: 'fresh-user',
    setsCookies: true,
    input: z.strictObject({ code, revokeOtherSessions: z.exactOptional(z.boolean()) }),
    output: codes,
    async run({ code, revokeOtherSessions = false }, context) {
      const { userId } = context.identity
      await requireSessionSecret(context)
      await requireSecondFactor(context)
      const proved = await proveCode({ userId, code, isFirst: true }, context, settings)
      const confirmedAt = context.config.now()
      let recoveryCodes: string[] = []
      const work = async (trx: AuthTransaction, record: RecordEvent) => {
        await requireSecondFactor(context, trx)
        await requireProvedApp(trx, proved)
        const update = withOwnTables(trx)
          .updateTable('totp')
          .set({ confirmedAt })
          .where('userId', '=', userId)
        const confirmed = await update.where('confirmedAt', 'is', null).executeTakeFirst()
        if (confirmed.numUpdatedRows === 0n) throw totpError('TOTP_NOT_ENABLED')
        recoveryCodes = await replaceRecoveryCodes(trx, userId, confirmedAt)
        // A former app that was removed by hand, or during a sign-in, leaves its browsers.
        await trustedDevices.forget(trx, userId)
        record({ type: 'totp:enabled', userId, actorId: null, at: confirmedAt })
      }
      const renewed = await renewSession(context, {
        cause: 'factor-added',
        methods: ['otp'],
        revokeOthers: revokeOtherSessions && 'factor-changed',
        work,
      })
      sendNotice('totp-enabled', userId, { ...context, ...settings })
      return { ...renewed, body: { ...renewed.body, recoveryCodes } }
    },
  })
}

export interface DisableTotpInput {
  /** A code of the authenticator app, or a recovery code. */
  code: string
  /** @default true */
  revokeOtherSessions?: boolean
}

/** Removes the authenticator app with its recovery codes, and replaces this session's credentials. */
export function disableTotp(settings: Settings): Endpoint<DisableTotpInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.disableTotp,
    caller: 'fresh-user',
    setsCookies: true,
    input: z.strictObject({ code, revokeOtherSessions: z.exactOptional(z.boolean()) }),
    output: tokens,
    async run({ code, revokeOtherSessions = true }, context) {
      const { userId } = context.identity
      await requireSessionSecret(context)
      const proved = await proveCode({ userId, code }, context, settings)
      const work = async (trx: AuthTransaction, record: RecordEvent) => {
        await requireProvedApp(trx, proved)
        await removeTotp(userId, trx)
        record({ type: 'totp:disabled', userId, actorId: null, at: context.config.now() })
      }
      const renewed = await renewSession(context, {
        cause: 'factor-removed',
        revokeOthers: revokeOtherSessions && 'factor-changed',
        work,
      })
      sendNotice('totp-disabled', userId, { ...context, ...settings })
      return renewed
    },
  })
}

/** Replaces the recovery codes, and this session's credentials. */
export function createRecoveryCodes(
  settings: Settings,
): Endpoint<{ code: string }, RecoveryCodesResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.createRecoveryCodes,
    caller: 'fresh-user',
    setsCookies: true,
    input: z.strictObject({ code }),
    output: codes,
    async run({ code }, context) {
      const { userId } = context.identity
      await requireSessionSecret(context)
      const proved = await proveCode({ userId, code }, context, settings)
      const at = context.config.now()
      let recoveryCodes: string[] = []
      const work = async (trx: AuthTransaction, record: RecordEvent) => {
        await requireProvedApp(trx, proved)
        recoveryCodes = await replaceRecoveryCodes(trx, userId, at)
        await trustedDevices.forget(trx, userId)
        record({ type: 'totp:recovery-codes-created', userId, actorId: null, at })
      }
      const renewed = await renewSession(context, {
        cause: 'factor-added',
        methods: [proved.method],
        work,
      })
      sendNotice('recovery-codes-created', userId, { ...context, ...settings })
      return { ...renewed, body: { ...renewed.body, recoveryCodes } }
    },
  })
}
