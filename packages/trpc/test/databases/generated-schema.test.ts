import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { createAuth, defineAuth, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { expect, test } from 'vitest'
import { prismaFile } from '../../../core/src/cli/generate/prisma-file.ts'
import { schemaTables } from '../../../core/src/cli/generate/schema-tables.ts'
import { databaseKinds } from '../../../core/test/support/database-kinds.ts'
import { prismaApp } from './prisma-app.ts'

const [, postgres] = await databaseKinds()
const signingKeys = { keys: [await createSigningKey()] }
const { publicJwks } = parseSigningKeys(signingKeys)
const config = defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks: staticJwks(publicJwks) })
const definition = defineAuth({ config, signingKeys, plugins: [emailPassword()] })
const { tables } = await schemaTables(definition.plugins, { schema: 'prisma', dialect: 'postgres' })
const schema = prismaFile(tables, 'postgres', null)
const NOTHING = '-- This is an empty migration.'

test('prisma db push creates the tables, and prisma migrate diff finds no changes after a sign-in', async () => {
  const database = await postgres.create()
  const app = await prismaApp(database.url)
  await app.push(schema)
  const opened = await database.open({ migrate: false })
  expect(opened.migrations.applied).toEqual([])
  const auth = await createAuth(definition, opened, { pruneEverySeconds: 0 })
  const request = new Request('http://localhost:3000/', { method: 'POST', headers: { [CLIENT_HEADER]: '1' } })
  const account = { email: 'ada@example.com', password: TEST_PASSWORD }
  await auth.api.signUpEmail({ ...account, name: 'Ada', request })
  expect(await auth.api.signInEmail({ ...account, request })).toMatchObject({ expiresIn: 900 })
  expect(await app.diff(schema)).toContain(NOTHING)
  await app.push(schema)
  expect(await database.rows('select count(*)::int4 as sessions from session')).toEqual([{ sessions: 2 }])
})

test('prisma migrate diff finds no changes in tables that our migrations created', async () => {
  const database = await postgres.create()
  ;(await createAuth(definition, await database.open())).close()
  const app = await prismaApp(database.url)
  expect(await app.diff(schema)).toContain(NOTHING)
})
