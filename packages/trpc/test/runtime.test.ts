import * as runtime from '@sallyport/trpc/runtime'
import { expect, test } from 'vitest'

test('@sallyport/trpc/runtime exports what its users rely on, and nothing else', () => {
  expect(Object.keys(runtime).sort()).toMatchInlineSnapshot(`
    [
      "bindRunner",
      "createAuthRuntime",
      "createInternalHandler",
      "defineInternalFunctions",
      "functionsOf",
      "httpRunner",
      "localRunner",
    ]
  `)
})
