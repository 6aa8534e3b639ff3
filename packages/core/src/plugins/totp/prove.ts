import type { Selectable } from 'kysely'
import { Secret, TOTP } from 'otpauth'
import type * as z from 'zod/mini'
import type { AuthKysely } from '../../database/schema/kysely-tables.ts'
import type { AuthTransaction } from '../../database/session-database.ts'
import { consume } from '../../endpoints/attempts.ts'
import type { EndpointContext } from '../../endpoints/endpoint.ts'
import type { EncryptionKeys } from '../../keys/encryption-keys.ts'
import { lockUsers } from '../../lifecycle/locked-sessions.ts'
import { ConfigurationError } from '../../protocol/errors.ts'
import { clientNetwork } from '../../request/address.ts'
import { giveBackInOutage, typedCode } from '../internal.ts'
import { useRecoveryCode } from './recovery-codes.ts'
import { type Settings, totpError } from './settings.ts'
import { type TotpTables, withOwnTables } from './tables.ts'

/** RFC 6238: what authenticator apps support. */
const PERIOD_SECONDS = 30
const DIGITS = 6

/** The steps before and after the current one that are accepted (RFC 6238 section 5.2). */
const WINDOW = 1

/** A code of an authenticator app, or a recovery code. */
export const code: z.ZodMiniType<string> = typedCode(/^([0-9]{6}|[A-Z2-7]{24})$/)

export function requireEncryptionKeys({ encryptionKeys }: EndpointContext): EncryptionKeys {
  if (encryptionKeys !== null) return encryptionKeys
  throw new ConfigurationError('ENCRYPTION_KEYS is not set.')
}

/** Returns the URI for a QR code, as authenticator apps read it. */
export function toUri(secret: string, { issuer }: Settings, email: string): string {
  return totpOf(secret, { issuer, label: email }).toString()
}

export function createTotpSecret(): string {
  return new Secret({ size: 20 }).base32
}

export function ownerOf(userId: string): string[] {
  return ['totp', userId]
}

/** The method that a code proved, and the app that the user had then. */
interface ProvedCode {
  readonly userId: string
  readonly method: 'otp' | 'recovery'
  /** As stored. */
  readonly secret: string
}

interface Proof {
  readonly userId: string
  readonly code: string
  /** True for the first code of a new secret, which isn't a factor yet. */
  readonly isFirst?: boolean
}

/**
 * Accepts a code once, in a separate change: it stays used even if the caller's work fails.
 * @throws EndpointError `CODE_INVALID` or `TOTP_NOT_ENABLED`, AuthError `RATE_LIMITED`
 */
export async function proveCode(
  { userId, code, isFirst = false }: Proof,
  context: EndpointContext,
  { limits }: Settings,
): Promise<ProvedCode> {
  // Recovery codes of a former app, whose row was deleted by hand, don't prove that a new app works.
  const isTotp = isFirst || code.length === DIGITS
  const giveBack = await consume(context, [
    [`totp:${userId}:${clientNetwork(context.address)}`, limits.network],
    // A recovery code can't be guessed.
    ...(isTotp ? ([[`totp:${userId}`, limits.account]] as const) : []),
  ])
  // If the app can't be read, nothing was compared.
  const matching = isTotp ? matchCode({ userId, code, isFirst }, context) : null
  const match = (await matching?.catch(giveBackInOutage(giveBack))) ?? null
  const isRight = typeof match?.step === 'number'
  const proved = await context
    .change(async (trx, record) => {
      await lockUsers(trx, [userId])
      const app = await requireApp(trx, { userId, isFirst })
      if (match !== null && match.secret !== app.secret) throw totpError('TOTP_NOT_ENABLED')
      const accepts =
        match === null ? useRecoveryCode(trx, userId, code) : acceptStep(match.step, { app, trx })
      if (await accepts) return app
      const { address, config } = context
      record({ type: 'sign-in.failed', at: config.now(), userId, reason: 'CODE_INVALID', address })
      return null
    })
    .catch(giveBackInOutage(isRight ? giveBack : null))
  if (proved === null) throw totpError('CODE_INVALID')
  await giveBack()
  return { userId, method: isTotp ? 'otp' : 'recovery', secret: proved.secret }
}

/**
 * Rejects the proof of an app that was removed or replaced since. Call it in a change, which has locked the
 * user.
 * @throws EndpointError `TOTP_NOT_ENABLED`
 */
export async function requireProvedApp(trx: AuthTransaction, { userId, secret }: ProvedCode): Promise<void> {
  if ((await findApp(trx, userId))?.secret !== secret) throw totpError('TOTP_NOT_ENABLED')
}

type App = Selectable<TotpTables['totp']>

function findApp(db: AuthKysely, userId: string): Promise<App | undefined> {
  const apps = withOwnTables(db).selectFrom('totp').selectAll()
  return apps.where('userId', '=', userId).executeTakeFirst()
}

/** @throws EndpointError `TOTP_NOT_ENABLED` */
async function requireApp(
  db: AuthKysely,
  { userId, isFirst }: Pick<Required<Proof>, 'userId' | 'isFirst'>,
): Promise<App> {
  const app = await findApp(db, userId)
  if (app === undefined || (app.confirmedAt === null) !== isFirst) throw totpError('TOTP_NOT_ENABLED')
  return app
}

interface Match {
  /** The secret with which the code was compared, as stored. */
  readonly secret: string
  /** The step of the code; null if it is wrong. */
  readonly step: number | null
}

/**
 * Compares a code with the secret of the app. Call it before a transaction: decryption ends the turn of the
 * event loop, and a write by the app's SQLite client would then block the process until it times out.
 * @throws EndpointError `TOTP_NOT_ENABLED`
 */
async function matchCode(
  { userId, code, isFirst }: Required<Proof>,
  context: EndpointContext,
): Promise<Match> {
  const { secret } = await requireApp(context.database.db, { userId, isFirst })
  const decrypted = await requireEncryptionKeys(context).decrypt(secret, ownerOf(userId))
  const timestamp = context.config.now().getTime()
  const delta = totpOf(decrypted).validate({ token: code, timestamp, window: WINDOW })
  const step = delta === null ? null : Math.floor(timestamp / 1000 / PERIOD_SECONDS) + delta
  return { secret, step }
}

/** Remembers the step of a right code: no code of this or an earlier one is accepted again. */
async function acceptStep(
  step: number | null,
  { app: { userId, lastStep }, trx }: { app: App; trx: AuthTransaction },
): Promise<boolean> {
  if (step === null || step <= lastStep) return false
  const apps = withOwnTables(trx).updateTable('totp').set({ lastStep: step })
  await apps.where('userId', '=', userId).execute()
  return true
}

function totpOf(secret: string, names: { issuer?: string; label?: string } = {}): TOTP {
  return new TOTP({ ...names, secret, algorithm: 'SHA1', digits: DIGITS, period: PERIOD_SECONDS })
}
