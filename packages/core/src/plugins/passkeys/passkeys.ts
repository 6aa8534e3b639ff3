import type { AuthPlugin } from '../../endpoints/definition.ts'
import { rateLimits } from '../internal.ts'
import { addPasskey } from './add.ts'
import {
  createPasskeyOptions,
  createPasskeyReauthenticationOptions,
  createPasskeySignInOptions,
} from './create-options.ts'
import { listPasskeys, renamePasskey } from './own-passkeys.ts'
import { removePasskey } from './remove.ts'
import { removeAdded, secondFactor } from './second-factor.ts'
import {
  checkDomains,
  DEFAULT_LIMITS,
  PASSKEY_ERRORS,
  type PasskeysOptions,
  type Settings,
} from './settings.ts'
import { reauthenticatePasskey, signInPasskey } from './sign-in.ts'
import { hasPasskey, migrations } from './tables.ts'

export type PasskeyEndpoints = {
  readonly createPasskeySignInOptions: ReturnType<typeof createPasskeySignInOptions>
  readonly signInPasskey: ReturnType<typeof signInPasskey>
  readonly createPasskeyReauthenticationOptions: ReturnType<typeof createPasskeyReauthenticationOptions>
  readonly reauthenticatePasskey: ReturnType<typeof reauthenticatePasskey>
  readonly createPasskeyOptions: ReturnType<typeof createPasskeyOptions>
  readonly addPasskey: ReturnType<typeof addPasskey>
  readonly listPasskeys: typeof listPasskeys
  readonly renamePasskey: typeof renamePasskey
  readonly removePasskey: ReturnType<typeof removePasskey>
}

/**
 * Adds passkeys (WebAuthn level 3), which verify the user: as a sign-in without a username, as a second
 * factor, and to re-authenticate. Needs `@simplewebauthn/server`.
 * @example passkeys({ appName: 'Example', sendEmail: ({ kind, to }) => mailer.send(to, texts[kind]) })
 * @throws ConfigurationError if a limit isn't positive, `rpId` isn't a domain, or an origin isn't one
 */
export function passkeys(options: PasskeysOptions = {}): AuthPlugin<PasskeyEndpoints, Record<never, never>> {
  checkDomains(options)
  const { origins = [], requiredAtSignIn = false, limits } = options
  const settings: Settings = {
    ...options,
    origins,
    requiredAtSignIn,
    limits: rateLimits(DEFAULT_LIMITS, limits),
  }
  return {
    id: 'passkeys',
    reasons: PASSKEY_ERRORS,
    migrations,
    expiringTables: ['passkeyChallenge'],
    canSignIn: (userId, db) => hasPasskey(db, userId),
    secondFactor: secondFactor(settings),
    async onChange(event, trx) {
      if (event.type === 'user.email-change-undone') await removeAdded(event, trx)
    },
    endpoints: {
      createPasskeySignInOptions: createPasskeySignInOptions(settings),
      signInPasskey: signInPasskey(settings),
      createPasskeyReauthenticationOptions: createPasskeyReauthenticationOptions(settings),
      reauthenticatePasskey: reauthenticatePasskey(settings),
      createPasskeyOptions: createPasskeyOptions(settings),
      addPasskey: addPasskey(settings),
      listPasskeys,
      renamePasskey,
      removePasskey: removePasskey(settings),
    },
  }
}
