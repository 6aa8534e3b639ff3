import { createTestAuth } from '@sallyport/core/testing'

/** A page of another origin that is listed. */
export const LISTED_ORIGIN = 'https://admin.example.com'

/** Stands for `auth.config.ts`, `auth.ts`, `database.ts` and `auth-server.ts` of the README: the servers of the pages share it. */
export const testAuth = await createTestAuth({
  allowedOrigins: [LISTED_ORIGIN],
  // So that each test is a client of its own.
  trustedProxies: ['loopback'],
})
