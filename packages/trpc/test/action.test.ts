import * as action from '@sallyport/trpc/action'
import { expect, test } from 'vitest'
import { importsOf, reachableFrom } from './support/imports.ts'

test('@sallyport/trpc/action exports what its users rely on, and nothing else', () => {
  expect(Object.keys(action).sort()).toMatchInlineSnapshot(`
    [
      "createAuthedAction",
    ]
  `)
})

test('of getAuth it knows the type alone: the definition comes with the one that the app hands over', () => {
  const [module] = reachableFrom(new URL('../src/action.ts', import.meta.url)).filter(({ pathname }) =>
    pathname.endsWith('/action/authed-action.ts'),
  )
  const named = module === undefined ? [] : importsOf(module)
  expect(named.find(({ specifier }) => specifier === '../runtime/get-auth.ts')).toEqual({
    specifier: '../runtime/get-auth.ts',
    isTypeOnly: true,
  })
})
