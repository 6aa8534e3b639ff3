import { anonymous } from '@sallyport/core/plugins/anonymous'
import { type EmailCodeOptions, emailCode } from '@sallyport/core/plugins/email-code'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { oauth } from '@sallyport/core/plugins/oauth'
import { organization } from '@sallyport/core/plugins/organization'
import { passkeys } from '@sallyport/core/plugins/passkeys'
import { totp } from '@sallyport/core/plugins/totp'
import { type LocalProvider, startLocalProvider } from '../plugins/oauth/local-provider.ts'
import { CLIENT } from '../plugins/oauth/oidc-server.ts'

const PLENTY = { points: 1_000_000, duration: 60 }

/** The `emailPassword` of a test auth with all endpoints. */
export const everyPasswordOption = {
  usernames: true,
  sendEmail: async () => {},
  limits: { account: PLENTY, address: PLENTY, email: PLENTY },
} as const

/** The deep link of an app. */
export const APP_LINK = 'com.example.app:/signed-in'

interface EveryPluginOptions {
  /** @default a new one */
  readonly acme?: LocalProvider
  /** Sends the emails of `emailCode()`. */
  readonly sendCode?: EmailCodeOptions['sendEmail']
}

/**
 * Returns the other plugins with endpoints, for as many calls as a test needs. `acme` is an OpenID provider,
 * until the tests of the file are over.
 */
export async function startEveryPlugin({ acme, sendCode = async () => {} }: EveryPluginOptions = {}) {
  const { issuer } = acme ?? (await startLocalProvider())
  return [
    organization({ deliverInvitation: async () => {} }),
    totp({ issuer: 'Test' }),
    passkeys({ limits: { options: PLENTY, address: PLENTY, account: PLENTY } }),
    emailCode({ sendEmail: sendCode, limits: { address: PLENTY, email: PLENTY, mailbox: PLENTY } }),
    anonymous({ password: emailPassword(everyPasswordOption), limits: { address: PLENTY } }),
    oauth({
      providers: { acme: { ...CLIENT, issuer } },
      redirects: [APP_LINK],
      limits: { address: PLENTY, user: PLENTY },
    }),
  ] as const
}
