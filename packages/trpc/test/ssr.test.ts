import * as ssr from '@sallyport/trpc/ssr'
import { expect, test } from 'vitest'

test('@sallyport/trpc/ssr exports what its users rely on, and nothing else', () => {
  expect(Object.keys(ssr).sort()).toMatchInlineSnapshot(`
    [
      "createServerAuth",
      "inlineJson",
    ]
  `)
})
