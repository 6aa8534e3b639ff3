import type { AuthPlugin } from '../../endpoints/definition.ts'
import { requirePositive } from '../../protocol/settings.ts'
import { settingsOf } from '../email-password/settings.ts'
import { rateLimits } from '../internal.ts'
import { reauthenticateAnonymous } from './reauthenticate.ts'
import { ANONYMOUS_ERRORS, type AnonymousOptions, DEFAULT_LIMITS, type Settings } from './settings.ts'
import { signInAnonymous } from './sign-in.ts'
import { type AnonymousColumns, migrations, userColumns, withOwnTables } from './tables.ts'
import { upgradeAnonymous } from './upgrade.ts'

/**
 * After these, a user can sign in again, and so isn't anonymous. A second factor alone isn't enough, nor is a
 * password with an email that `requireVerified` doesn't accept yet.
 */
const GIVES_WAY_IN: ReadonlySet<string> = new Set([
  'user.verified',
  'user.email-changed',
  'user.password-changed',
  'passkeys:added',
])

export type AnonymousEndpoints = {
  readonly signInAnonymous: ReturnType<typeof signInAnonymous>
  readonly reauthenticateAnonymous: typeof reauthenticateAnonymous
  readonly upgradeAnonymous: ReturnType<typeof upgradeAnonymous>
}

/**
 * Adds users without an account, who can get one later and keep their id. `ctx.user` gets `isAnonymous`.
 * @example
 * const password = emailPassword({ sendEmail })
 * defineAuth({ config, signingKeys, plugins: [password, anonymous({ password })] })
 * @throws ConfigurationError if `password` isn't `emailPassword()`, or a number isn't positive
 */
export function anonymous(options: AnonymousOptions = {}): AuthPlugin<AnonymousEndpoints, AnonymousColumns> {
  const { password, pruneAfterDays } = options
  if (pruneAfterDays !== undefined) requirePositive('anonymous.pruneAfterDays', pruneAfterDays, 36_500)
  const settings: Settings = {
    ...(pruneAfterDays !== undefined && { pruneAfterDays }),
    password: password === undefined ? null : settingsOf(password),
    limits: rateLimits(DEFAULT_LIMITS, options.limits),
  }
  return {
    id: 'anonymous',
    reasons: ANONYMOUS_ERRORS,
    migrations,
    userColumns,
    async onChange(event, trx) {
      const isUnverified = event.type === 'user.password-changed' && settings.password?.requireVerified
      if (isUnverified || !GIVES_WAY_IN.has(event.type)) return
      const users = withOwnTables(trx).updateTable('user').set({ isAnonymous: false })
      await users.where('id', '=', event.userId).where('isAnonymous', '=', true).execute()
    },
    endpoints: {
      signInAnonymous: signInAnonymous(settings),
      reauthenticateAnonymous,
      upgradeAnonymous: upgradeAnonymous(settings),
    },
  }
}
