import type { AuthPlugin } from '../../endpoints/definition.ts'
import { requirePositive } from '../../protocol/settings.ts'
import { rateLimits } from '../internal.ts'
import { confirmTotp, createRecoveryCodes, disableTotp, enableTotp, getTotp } from './enrollment.ts'
import { removeAdded, secondFactor, trustedDevices } from './second-factor.ts'
import { DEFAULT_LIMITS, type Settings, TOTP_ERRORS, type TotpOptions } from './settings.ts'
import { reauthenticateTotp, signInTotp } from './sign-in.ts'
import { migrations } from './tables.ts'

export type TotpEndpoints = {
  readonly getTotp: typeof getTotp
  readonly enableTotp: ReturnType<typeof enableTotp>
  readonly confirmTotp: ReturnType<typeof confirmTotp>
  readonly disableTotp: ReturnType<typeof disableTotp>
  readonly createRecoveryCodes: ReturnType<typeof createRecoveryCodes>
  readonly signInTotp: ReturnType<typeof signInTotp>
  readonly reauthenticateTotp: ReturnType<typeof reauthenticateTotp>
}

const NO_KEYS =
  'ENCRYPTION_KEYS is not set, and totp needs it. Create a key with "openssl rand -base64 32", and pass it to defineAuth({ encryptionKeys }).'

const TRUSTED_DEVICE_SECONDS = 30 * 24 * 60 * 60
const MAX_TRUSTED_DEVICE_SECONDS = 100 * 365 * 24 * 60 * 60

/**
 * Adds a second factor: codes of an authenticator app (RFC 6238), and recovery codes. A user who has set it
 * up can't sign in with a password alone. Needs `otpauth` and `encryptionKeys`.
 * @example totp({ issuer: 'Example', sendEmail: ({ kind, to }) => mailer.send(to, texts[kind]) })
 * @throws ConfigurationError if a limit isn't positive, or `trustedDeviceSeconds` is negative or over 100
 * years
 */
export function totp(options: TotpOptions): AuthPlugin<TotpEndpoints, Record<never, never>> {
  const { trustedDeviceSeconds = TRUSTED_DEVICE_SECONDS } = options
  if (trustedDeviceSeconds !== 0)
    requirePositive('totp.trustedDeviceSeconds', trustedDeviceSeconds, MAX_TRUSTED_DEVICE_SECONDS)
  const settings: Settings = {
    ...options,
    trustedDeviceSeconds,
    limits: rateLimits(DEFAULT_LIMITS, options.limits),
  }
  return {
    id: 'totp',
    reasons: TOTP_ERRORS,
    migrations,
    expiringTables: ['trustedDevice'],
    secondFactor: secondFactor(settings),
    missingSetting: ({ encryptionKeys }) => (encryptionKeys === null ? NO_KEYS : null),
    async onChange(event, trx) {
      // The user may do this because someone else has their password, or their browser.
      const isSuspect =
        event.type === 'user.password-changed' ||
        event.type === 'user.email-change-undone' ||
        (event.type === 'session.version-changed' && event.cause === 'copies-revoked')
      if (isSuspect) await trustedDevices.forget(trx, event.userId)
      if (event.type === 'user.email-change-undone') await removeAdded(event, trx)
    },
    endpoints: {
      getTotp,
      enableTotp: enableTotp(settings),
      confirmTotp: confirmTotp(settings),
      disableTotp: disableTotp(settings),
      createRecoveryCodes: createRecoveryCodes(settings),
      signInTotp: signInTotp(settings),
      reauthenticateTotp: reauthenticateTotp(settings),
    },
  }
}
