import {
  type AuthConfig,
  ConfigurationError,
  defineAuthConfig,
  type KeySet,
  staticJwks,
} from '@sallyport/core'
import {
  type AuthDefinitionOptions,
  type AuthPlugin,
  createAuth,
  defineAuth,
  parseSigningKeys,
} from '@sallyport/core/auth'
import { bindEndpoints, columnsOf, createSigningKey } from '@sallyport/core/internal/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'

const [own, other] = await Promise.all([createSigningKey('Ed25519'), createSigningKey('ES256')])
const configOf = (jwks: KeySet): AuthConfig => defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks })
const publicKeys = (...keys: unknown[]) => staticJwks(parseSigningKeys({ keys }).publicJwks)

test('a definition holds the config, the signing key, and the plugins', () => {
  const config = configOf(publicKeys(own))
  const plugin = { id: 'mine', endpoints: {} }
  const definition = defineAuth({ config, signingKeys: { keys: [own] }, plugins: [plugin] })
  expect(definition.config).toBe(config)
  expect(definition.signingKeys?.active).toMatchObject({ kid: own.kid })
  expect(definition.plugins).toEqual([plugin, { id: 'app' }])
})

test.each([
  ['is not in the JWKS', { keys: [own] }, publicKeys(other)],
  ['is in the JWKS under another algorithm', { keys: [{ ...own, kid: other.kid }] }, publicKeys(other)],
  ['is only the second private key', { keys: [own, other] }, publicKeys(other)],
])(
  'rejects a signing key that %s, because no process could verify its tokens',
  (_name, signingKeys, jwks) => {
    expect(() => defineAuth({ config: configOf(jwks), signingKeys })).toThrow(ConfigurationError)
  },
)

test('rejects private keys that break the policy', () => {
  expect(() => defineAuth({ config: configOf(publicKeys(own)), signingKeys: '{' })).toThrow(
    ConfigurationError,
  )
})

test("doesn't wait for a remote key set", () => {
  const fetched: KeySet = { ...publicKeys(own), findKey: async () => undefined }
  expect(() => defineAuth({ config: configOf(fetched), signingKeys: { keys: [own] } })).not.toThrow()
})

const defineWith = (plugins: readonly AuthPlugin[]) => () =>
  defineAuth({ config: configOf(publicKeys(own)), signingKeys: { keys: [own] }, plugins })

test.each(['', 'my plugin', 'my_plugin', 'plug"in', 'é', 'x'.repeat(41), 'sallyport'])(
  'rejects the plugin id %j, which names its migration tables',
  (id) => {
    expect(defineWith([{ id }])).toThrow(ConfigurationError)
    expect(defineWith([{ id }])).toThrow(`plugins: ${id} isn't a valid id`)
  },
)

test.each(['a', 'email-password', 'Organization2', '-', 'x'.repeat(40)])('accepts the plugin id %s', (id) => {
  expect(defineWith([{ id }])).not.toThrow()
})

test.each<[string, AuthPlugin]>([
  ['the column role', { id: 'a', userColumns: { role: { schema: z.string() } } }],
  [
    'the column banned',
    { id: 'a', userColumns: { banned: { type: 'flag', schema: z.boolean(), default: true } } },
  ],
  ['the reason TOKEN_EXPIRED', { id: 'a', reasons: { TOKEN_EXPIRED: { status: 409, message: 'Mine' } } }],
  ['the reason INVALID_INPUT', { id: 'a', reasons: { INVALID_INPUT: { status: 409, message: 'Mine' } } }],
])("a plugin can't claim %s, which belongs to the library", (what, plugin) => {
  expect(defineWith([plugin])).toThrow(ConfigurationError)
  expect(defineWith([plugin])).toThrow(`plugins: ${what} is claimed twice`)
})

test.each([0, 200, 302, 399, 600, 4009, 409.5, Number.NaN])(
  "a reason can't have the status %s, which isn't that of an error",
  (status) => {
    const plugin = { id: 'a', reasons: { TAKEN: { status, message: 'Taken' } } }
    expect(defineWith([plugin])).toThrow(ConfigurationError)
    expect(defineWith([plugin])).toThrow(
      `plugins: the reason TAKEN has the status ${status}. Use 400 to 599.`,
    )
  },
)

const column = { schema: z.string().nullable() }
test.each<[string, AuthPlugin, AuthPlugin]>([
  ['the id a', { id: 'a' }, { id: 'a' }],
  [
    'the column locale',
    { id: 'a', userColumns: { locale: column } },
    { id: 'b', userColumns: { locale: column } },
  ],
  [
    'the reason TAKEN',
    { id: 'a', reasons: { TAKEN: { status: 409, message: 'One' } } },
    { id: 'b', reasons: { TAKEN: { status: 409, message: 'Other' } } },
  ],
])("two plugins can't both claim %s", (what, one, two) => {
  expect(defineWith([one])).not.toThrow()
  expect(defineWith([one, two])).toThrow(ConfigurationError)
  expect(defineWith([one, two])).toThrow(`plugins: ${what} is claimed twice`)
})

describe("the app's additions", () => {
  const locale = { schema: z.enum(['en', 'de']), default: 'en' } as const
  const theme = { schema: z.string().nullable() }

  test('form the last plugin of its definition', () => {
    const onChange = async () => {}
    const definition = defineAuth({
      config: configOf(publicKeys(own)),
      signingKeys: { keys: [own] },
      plugins: [{ id: 'mine' }],
      user: { additionalFields: { locale } },
      session: { additionalFields: { theme } },
      hooks: { onChange },
    })
    expect(definition.plugins).toEqual([
      { id: 'mine' },
      { id: 'app', userColumns: { locale }, sessionColumns: { theme }, onChange },
    ])
    expect(columnsOf(definition)).toEqual({
      user: { locale: { type: 'text', default: 'en' } },
      session: { theme: { type: 'text' } },
    })
  })

  test.each<[string, Partial<AuthDefinitionOptions>, string]>([
    ['a plugin with its name', { plugins: [{ id: 'app' }] }, 'plugins: the id app is claimed twice'],
    [
      'a column of another plugin',
      { plugins: [{ id: 'a', userColumns: { locale } }], user: { additionalFields: { locale } } },
      'plugins: the column locale is claimed twice',
    ],
    [
      'a built-in column in the session',
      { session: { additionalFields: { token: theme } } },
      'plugins: the column token is claimed twice',
    ],
    [
      'a built-in member in the session',
      { session: { additionalFields: { user: theme } } },
      'plugins: the column user is claimed twice',
    ],
    [
      'a column whose initial value its schema rejects',
      { user: { additionalFields: { city: { schema: z.string() } } } },
      'plugins: the column city starts as null, which its schema rejects. Give it a default, or make the schema nullable()',
    ],
    [
      'a default that the schema rejects',
      { user: { additionalFields: { age: { type: 'number', schema: z.number().min(1), default: 0 } } } },
      'plugins: the column age starts as 0, which its schema rejects. Give it a default, or make the schema nullable()',
    ],
    [
      'an invalid column name',
      { user: { additionalFields: { 'a b': theme } } },
      `plugins: a b isn't a column name. Use letters, digits, and underscores, and not a name such as "then" or "constructor"`,
    ],
    [
      'a name that would make a session a promise',
      { session: { additionalFields: Object.fromEntries([['then', theme]]) } },
      `plugins: then isn't a column name. Use letters, digits, and underscores, and not a name such as "then" or "constructor"`,
    ],
    [
      "a name that can't be a member of an object",
      { session: { additionalFields: JSON.parse('{"__proto__":{}}') } },
      `plugins: __proto__ isn't a column name. Use letters, digits, and underscores, and not a name such as "then" or "constructor"`,
    ],
    [
      'a name that every object has',
      { user: { additionalFields: { constructor: theme } } },
      `plugins: constructor isn't a column name. Use letters, digits, and underscores, and not a name such as "then" or "constructor"`,
    ],
    [
      'the member that hides bans',
      { session: { additionalFields: { ban: theme } } },
      'plugins: the column ban is claimed twice',
    ],
    [
      'a built-in column in capitals',
      { user: { additionalFields: { Role: theme } } },
      'plugins: the column Role is claimed twice',
    ],
    [
      'another column in capitals',
      { user: { additionalFields: { locale, LOCALE: locale } } },
      'plugins: the column LOCALE is claimed twice',
    ],
  ])('are rejected at startup with %s', (_name, options, message) => {
    const define = () =>
      defineAuth({ config: configOf(publicKeys(own)), signingKeys: { keys: [own] }, ...options })
    expect(define).toThrow(ConfigurationError)
    expect(define).toThrow(message)
  })
})

describe('a definition without signing keys', () => {
  const definition = defineAuth({ config: configOf(publicKeys(own)), signingKeys: undefined })

  test('belongs to a process that issues no tokens', () => {
    expect(definition.signingKeys).toBeNull()
  })

  test('is rejected with a database', async () => {
    const database = await openSqlite(':memory:')
    const message =
      'SIGNING_KEYS is not set. A process with a database must be able to sign tokens. Load the variable, or run "npx sallyport keys create".'
    await expect(createAuth(definition, database)).rejects.toThrow(message)
    expect(() => bindEndpoints(definition, database)).toThrow(message)
    await database.close()
  })
})

test("rejects a database that was opened without a definition's columns, before any write", async () => {
  const definition = defineAuth({
    config: configOf(publicKeys(own)),
    signingKeys: { keys: [own] },
    session: { additionalFields: { theme: { schema: z.string().nullable() } } },
    user: { additionalFields: { credits: { type: 'number', schema: z.number(), default: 0 } } },
  })
  const message =
    'The auth definition adds user.credits, session.theme, which Step 2 does not read. Run "sallyport generate", and open the database with { columns: authColumns }.'
  const narrow = await openSqlite(':memory:')
  await expect(createAuth(definition, narrow, { pruneEverySeconds: 0 })).rejects.toThrow(message)
  const tables = await narrow.db.introspection.getTables()
  const columns = tables.find(({ name }) => name === 'session')?.columns ?? []
  expect(columns.map(({ name }) => name)).not.toContain('theme')
  await narrow.close()

  const otherType = { user: { credits: { type: 'text' } }, session: { theme: { type: 'text' } } } as const
  const other = await openSqlite(':memory:', { columns: otherType })
  expect(() => bindEndpoints(definition, other)).toThrow('adds user.credits, which')
  await other.close()

  const wide = await openSqlite(':memory:', { columns: columnsOf(definition) })
  const auth = await createAuth(definition, wide, { pruneEverySeconds: 0 })
  auth.close()
  await wide.close()
})
