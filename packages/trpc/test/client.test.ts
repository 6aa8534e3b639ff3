import * as client from '@sallyport/trpc/client'
import { expect, test } from 'vitest'

test('@sallyport/trpc/client exports what its users rely on, and nothing else', () => {
  expect(Object.keys(client).sort()).toMatchInlineSnapshot(`
    [
      "AuthClientError",
      "bearer",
      "createAuthClient",
    ]
  `)
})
