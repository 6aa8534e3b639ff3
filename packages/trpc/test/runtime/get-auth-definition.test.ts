import { openSqlite } from '@sallyport/core/sqlite'
import { createAuthContext } from '@sallyport/trpc'
import { createAuthRuntime, type GetAuth } from '@sallyport/trpc/action'
import { afterAll, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import { openRuntime, type ProbeDefinition, routeContext } from '../support/open-runtime.ts'
import { codeOf } from './code-of.ts'

const directory = temporaryDirectory()

const app = await openRuntime(directory)
beforeEach(() => app.reset())
afterAll(() => app.close())

describe('the definition', () => {
  test('is requested by the first getAuth, not earlier, and never again', () => {
    const define = vi.fn(() => app.auth.definition)
    const { getAuth } = createAuthRuntime(define)
    expect(define).not.toHaveBeenCalled()
    getAuth(routeContext(app, 'direct'))
    getAuth(routeContext(app, 'local'))
    getAuth(routeContext(app, 'direct'))
    expect(define).toHaveBeenCalledOnce()
  })

  test.each<{ state: string; define: () => ProbeDefinition }>([
    {
      state: 'undefined, as bundlers leave it',
      define: () => Object.assign(Object.create(null), { definition: undefined }).definition,
    },
    {
      state: 'in its temporal dead zone',
      define() {
        throw new ReferenceError("Cannot access 'authDefinition' before initialization")
      },
    },
  ])('that is still loading, $state: DEFINITION_MISSING, and requested again later', async ({ define }) => {
    let isLoaded = false
    const { getAuth } = createAuthRuntime(() => (isLoaded ? app.auth.definition : define()))
    for (const way of ['direct', 'local'] as const)
      expect(await codeOf(() => getAuth(routeContext(app, way)))).toBe('DEFINITION_MISSING')
    isLoaded = true
    expect(await getAuth(routeContext(app, 'direct')).api.readAsAnyone()).toMatchObject({ caller: null })
  })

  test.each([
    { first: 'auth-definition.ts', second: 'bound-auth.ts' },
    { first: 'bound-auth.ts', second: 'auth-definition.ts' },
  ])('may import the module that binds it, with $first loaded first', async ({ first }) => {
    vi.resetModules()
    if (first === 'auth-definition.ts') await import('../fixtures/circular/auth-definition.ts')
    const { getAuth } = await import('../fixtures/circular/bound-auth.ts')
    const { authDefinition, seenByHook } = await import('../fixtures/circular/auth-definition.ts')
    const database = await openSqlite(':memory:')
    const { auth } = createAuthContext(authDefinition.config).headers({}, { method: 'POST' })
    expect(await getAuth({ auth, db: database.db }).api.jwks()).toMatchObject({ keys: [{ use: 'sig' }] })
    expect(seenByHook).toEqual([])
    expectTypeOf(getAuth).toEqualTypeOf<GetAuth<typeof authDefinition>>()
    await database.close()
  })

  test('is bound to a database once, for all requests', () => {
    let reads = 0
    const definition = {
      ...app.auth.definition,
      get plugins() {
        reads++
        return app.auth.definition.plugins
      },
    }
    const { getAuth } = createAuthRuntime(() => definition)
    getAuth(routeContext(app, 'direct'))
    const afterFirst = reads
    for (let request = 0; request < 10; request++) getAuth(routeContext(app, 'direct'))
    expect(reads).toBe(afterFirst)
  })

  test('without signing keys works without a database, but not with one', async () => {
    const keyless = { ...app.auth.definition, signingKeys: null }
    const { getAuth } = createAuthRuntime(() => keyless)
    expect(() => getAuth(routeContext(app, 'direct'))).toThrow(/SIGNING_KEYS/)
    const { cookie } = await app.signIn()
    expect(await getAuth(routeContext(app, 'HTTP', { cookie })).api.token()).toMatchObject({ expiresIn: 900 })
  })
})
