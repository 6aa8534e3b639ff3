import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { createAuth, defineAuth, parseSigningKeys } from '@sallyport/core/auth'
import { columnsOf, createSigningKey } from '@sallyport/core/internal/auth'
import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { drizzleFile } from '../../../src/cli/generate/drizzle-file.ts'
import { schemaTables } from '../../../src/cli/generate/schema-tables.ts'
import { databaseKinds, type TestDatabase } from '../../support/database-kinds.ts'
import { drizzleApp } from '../../support/drizzle-app.ts'

const signingKeys = { keys: [await createSigningKey()] }
const config = defineAuthConfig({
  baseUrl: 'http://localhost:3000',
  jwks: staticJwks(parseSigningKeys(signingKeys).publicJwks),
})
const definition = defineAuth({
  config,
  signingKeys,
  plugins: [emailPassword()],
  user: {
    additionalFields: {
      locale: { schema: z.string(), default: 'en' },
      credit: { type: 'number', schema: z.number(), default: 1.5 },
      isBeta: { type: 'flag', schema: z.boolean(), default: true },
    },
  },
  session: { additionalFields: { seenNewsAt: { type: 'timestamp', schema: z.string().nullable() } } },
})
const columns = columnsOf(definition)

// drizzle-kit takes seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

describe.each(await databaseKinds())('the schema for Drizzle in $name', (kind) => {
  const dialect = kind.name === 'SQLite' ? 'sqlite' : 'postgres'
  const schema = async () => {
    const { tables } = await schemaTables(definition.plugins, { schema: 'drizzle', dialect })
    return drizzleFile(tables, dialect)
  }

  /** Signs up and in through the endpoints, on tables that drizzle-kit created. */
  async function signIn(database: TestDatabase): Promise<void> {
    const opened = await database.open({ columns, migrate: false })
    expect(opened.migrations.applied).toEqual([])
    const auth = await createAuth(definition, opened, { pruneEverySeconds: 0 })
    const request = new Request('http://localhost:3000/', {
      method: 'POST',
      headers: { [CLIENT_HEADER]: '1' },
    })
    const account = { email: 'ada@example.com', password: TEST_PASSWORD }
    await auth.api.signUpEmail({ ...account, name: 'Ada', request })
    expect(await auth.api.signInEmail({ ...account, request })).toMatchObject({ expiresIn: 900 })
    await opened.close()
  }

  test('drizzle-kit push changes no table that our migrations created', async () => {
    const database = await kind.create()
    const opened = await database.open({ columns })
    ;(await createAuth(definition, opened)).close()
    expect(await drizzleApp(database.url, await schema()).push()).toContain('No changes')
  })

  test('drizzle-kit push creates the tables, and finds no changes after the store was opened', async () => {
    const database = await kind.create()
    await expect(database.open({ columns, migrate: false })).rejects.toThrow('table user')
    const app = drizzleApp(database.url, await schema())
    await app.push()
    await signIn(database)
    expect(await app.push()).toContain('No changes')
    expect(await database.rows('select locale, credit from "user"')).toEqual([{ locale: 'en', credit: 1.5 }])
  })

  test('drizzle-kit generate and migrate create the tables', async () => {
    const database = await kind.create()
    await drizzleApp(database.url, await schema()).migrate()
    await signIn(database)
  })
})
