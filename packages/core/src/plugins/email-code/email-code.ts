import type { AuthPlugin } from '../../endpoints/definition.ts'
import { toMailboxes } from '../email-user.ts'
import { rateLimits } from '../internal.ts'
import { signInMemory } from '../known-browsers.ts'
import { hasVerifiedEmail } from '../usable-accounts.ts'
import { requestEmailCode, signedInBrowsers } from './request.ts'
import { DEFAULT_LIMITS, EMAIL_CODE_ERRORS, type EmailCodeOptions, type Settings } from './settings.ts'
import { reauthenticateEmailCode, signInEmailCode } from './sign-in.ts'
import { migrations } from './tables.ts'

export type EmailCodeEndpoints = {
  readonly requestEmailCode: ReturnType<typeof requestEmailCode>
  readonly signInEmailCode: ReturnType<typeof signInEmailCode>
  readonly reauthenticateEmailCode: ReturnType<typeof reauthenticateEmailCode>
}

/**
 * Adds sign-in by a code or a link in an email. Both work once, for 10 minutes, in the browser that requested
 * them. They aren't a second factor.
 * @example emailCode({ sendEmail: ({ kind, to, ...email }) => mailer.send(to, texts[kind](email)) })
 * @throws ConfigurationError if a limit isn't positive
 */
export function emailCode(options: EmailCodeOptions): AuthPlugin<EmailCodeEndpoints, Record<never, never>> {
  const { signUp = false } = options
  const sendEmail = toMailboxes(options.sendEmail)
  const limits = rateLimits(DEFAULT_LIMITS, options.limits)
  const settings: Settings = { ...options, sendEmail, signUp, limits }
  return {
    id: 'email-code',
    reasons: EMAIL_CODE_ERRORS,
    migrations,
    expiringTables: ['emailCode', 'emailCodeBrowser'],
    canSignIn: hasVerifiedEmail,
    browsers: signInMemory(signedInBrowsers),
    async onChange(event, trx) {
      // Someone else may have signed in with the former password.
      if (event.type === 'user.password-changed' || event.type === 'user.email-change-undone')
        await signedInBrowsers.forget(trx, event.userId)
    },
    endpoints: {
      requestEmailCode: requestEmailCode(settings),
      signInEmailCode: signInEmailCode(settings),
      reauthenticateEmailCode: reauthenticateEmailCode(settings),
    },
  }
}
