import * as links from '@sallyport/trpc/links'
import { expect, test } from 'vitest'

test('@sallyport/trpc/links exports what its users rely on, and nothing else', () => {
  expect(Object.keys(links).sort()).toMatchInlineSnapshot(`
    [
      "authAwareRetry",
      "authAwareRetryDelay",
      "authLink",
      "subscriptionLink",
      "webSocketLink",
    ]
  `)
})
