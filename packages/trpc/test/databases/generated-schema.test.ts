import { createAuth, defineAuth } from '@sallyport/core/auth'
import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { describe, expect, test } from 'vitest'
import { prismaFile } from '../../../core/src/cli/generate/prisma-file.ts'
import { schemaTables } from '../../../core/src/cli/generate/schema-tables.ts'
import { createIssuer } from '../../../core/test/support/create-issuer.ts'
import { databaseKinds } from '../../../core/test/support/database-kinds.ts'
import { prismaApp } from './prisma-app.ts'

const { config, signingKeys } = await createIssuer()
const definition = defineAuth({ config, signingKeys, plugins: [emailPassword()] })
const NOTHING = '-- This is an empty migration.'

describe.each(await databaseKinds())('$name', async (kind) => {
  const dialect = kind.name === 'SQLite' ? 'sqlite' : 'postgres'
  const { tables } = await schemaTables(definition.plugins, { schema: 'prisma', dialect })
  const schema = prismaFile(tables, { engine: dialect, current: null, others: '' })
  const request = new Request('http://localhost:3000/', { method: 'POST', headers: { [CLIENT_HEADER]: '1' } })
  const account = { email: 'ada@example.com', password: TEST_PASSWORD }

  test('prisma db push creates the tables, and prisma migrate diff finds no changes after a sign-in', async () => {
    const database = await kind.create()
    const app = await prismaApp(database.url)
    await app.push(schema)
    const opened = await database.open({ migrate: false })
    expect(opened.migrations.applied).toEqual([])
    const auth = await createAuth(definition, opened, { pruneEverySeconds: 0 })
    await auth.api.signUpEmail({ ...account, name: 'Ada', request })
    expect(await auth.api.signInEmail({ ...account, request })).toMatchObject({ expiresIn: 900 })
    expect(await app.diff(schema)).toContain(NOTHING)
    await app.push(schema)
    expect(await database.rows('select id from session')).toHaveLength(2)
  })

  test('prisma db push takes over tables that our migrations created, with their rows', async () => {
    const database = await kind.create()
    const auth = await createAuth(definition, await database.open(), { pruneEverySeconds: 0 })
    await auth.api.signUpEmail({ ...account, name: 'Ada', request })
    const app = await prismaApp(database.url)
    // In SQLite, Prisma names the type of flags differently, and rebuilds those tables once.
    if (kind.name === 'PostgreSQL') expect(await app.diff(schema)).toContain(NOTHING)
    await app.push(schema)
    expect(await app.diff(schema)).toContain(NOTHING)
    expect(await auth.api.signInEmail({ ...account, request })).toMatchObject({ expiresIn: 900 })
    expect(await database.rows('select id from session')).toHaveLength(2)
  })
})
