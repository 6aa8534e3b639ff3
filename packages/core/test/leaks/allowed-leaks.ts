import type { Leak } from './leak-watch.ts'

/** A secret that may appear in a place, and why. */
interface AllowedLeak extends Pick<Leak, 'secret' | 'place'> {
  /** The text that must precede it. */
  readonly after?: RegExp
  /** The test file that leaks it on purpose. Absent if the product does. */
  readonly file?: `packages/${string}.test.ts`
  readonly reason: string
}

const ALLOWED: readonly AllowedLeak[] = [
  {
    secret: 'random secret',
    place: 'error body',
    after: /"challenge":\{"token":"$/,
    reason: 'useless without the second factor, and valid for ten minutes',
  },
  {
    secret: 'family key',
    place: 'database',
    reason:
      'the column tokenFamily: an attacker who reads it can make the server end the session, and nothing else',
  },
  {
    secret: 'private key',
    place: 'log',
    after: /"d":"$/,
    file: 'packages/core/test/cli/keys.test.ts',
    reason: 'the command exists to print them',
  },
  {
    secret: 'random secret',
    place: 'URL',
    after: /\/(verify-email|reset-password|undo-email-change)\?token=$/,
    file: 'packages/core/test/endpoints/every-endpoint.test.ts',
    reason: "tests that a URL can't carry what belongs in a body",
  },
  {
    secret: 'password',
    place: 'URL',
    after: /[?&](password|currentPassword|newPassword)=$/,
    file: 'packages/core/test/endpoints/every-endpoint.test.ts',
    reason: "tests that a URL can't carry what belongs in a body",
  },
  {
    secret: 'password',
    place: 'database',
    after: /Test User$/,
    file: 'packages/core/test/plugins/email-password/change-password.test.ts',
    reason: 'tries what stands before the @ of the email address as a password, which is rejected',
  },
  {
    secret: 'random secret',
    place: 'URL',
    after: /[?&]state=$/,
    reason: 'the state of a sign-in at a provider, which belongs in its URL (RFC 6749 section 4.1.1)',
  },
  {
    secret: 'cookie',
    place: 'URL',
    after: /[ \d]\/(auth|interaction)\/$/,
    reason: 'oidc-provider, which tests sign in at, has its own cookies',
  },
  {
    secret: 'JWT',
    place: 'URL',
    file: 'packages/trpc/test/server/context.test.ts',
    reason:
      "tRPC's httpSubscriptionLink puts connectionParams into the URL: tests that they are ignored there",
  },
  {
    secret: 'password',
    place: 'log',
    after: /grace@example\.com Password +$/,
    reason: 'the example says how to sign in; its users are made up',
  },
]

/** Returns whether a leak is allowed. */
export function isAllowed(leak: Leak, testPath: string): boolean {
  return ALLOWED.some(
    ({ secret, place, after = /$/, file = '' }) =>
      secret === leak.secret && place === leak.place && after.test(leak.after) && testPath.endsWith(file),
  )
}
