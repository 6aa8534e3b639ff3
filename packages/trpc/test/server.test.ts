import * as server from '@sallyport/trpc'
import { expect, test } from 'vitest'

test('@sallyport/trpc exports what its users rely on, and nothing else', () => {
  expect(Object.keys(server).sort()).toMatchInlineSnapshot(`
    [
      "assertGuarded",
      "authErrorData",
      "authErrorMiddleware",
      "authHandlerOptions",
      "authResponseMeta",
      "bindSession",
      "createAuthContext",
      "createSensitiveSessionMiddleware",
      "endpointErrorData",
      "getSession",
      "optionalSessionMiddleware",
      "rateLimit",
      "requireOrganizationRole",
      "requireRole",
      "sensitiveSessionMiddleware",
      "sessionMiddleware",
      "webSocketOptions",
    ]
  `)
})
