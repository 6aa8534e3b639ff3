import * as react from '@sallyport/trpc/react'
import { expect, test } from 'vitest'

test('@sallyport/trpc/react exports what its users rely on, and nothing else', () => {
  expect(Object.keys(react).sort()).toMatchInlineSnapshot(`
    [
      "AuthLoading",
      "AuthProvider",
      "SignedIn",
      "SignedOut",
      "useAuth",
      "useSensitive",
      "useSession",
    ]
  `)
})
