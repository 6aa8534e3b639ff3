import * as action from '@sallyport/trpc/action'
import { expect, test } from 'vitest'

test('@sallyport/trpc/action exports what its users rely on, and nothing else', () => {
  expect(Object.keys(action).sort()).toMatchInlineSnapshot(`
    [
      "createAuthedAction",
    ]
  `)
})
