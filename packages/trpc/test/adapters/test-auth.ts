import { createTestAuth } from '@sallyport/core/testing'

/** A page of another origin that is listed. */
export const LISTED_ORIGIN = 'https://admin.example.com'

/** Replaces `auth.config.ts` and `auth.ts` of the README. All servers of the page share it. */
export const testAuth = await createTestAuth({
  allowedOrigins: [LISTED_ORIGIN],
  // Each test is a client with another address.
  trustedProxies: ['loopback'],
})
