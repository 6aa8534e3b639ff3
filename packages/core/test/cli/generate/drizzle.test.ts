import { type Auth, createAuth, defineAuth } from '@sallyport/core/auth'
import { columnsOf } from '@sallyport/core/internal/auth'
import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { organization } from '@sallyport/core/plugins/organization'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { drizzleFile } from '../../../src/cli/generate/drizzle-file.ts'
import { schemaTables } from '../../../src/cli/generate/schema-tables.ts'
import { createIssuer } from '../../support/create-issuer.ts'
import { databaseKinds, type TestDatabase } from '../../support/database-kinds.ts'
import { drizzleApp } from '../../support/drizzle-app.ts'

const { config, signingKeys } = await createIssuer()
const definition = defineAuth({
  config,
  signingKeys,
  plugins: [emailPassword(), organization()],
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
/** `pnpm test:databases` also creates the tables with `push` and in SQLite, and pushes again. */
const IS_LONG = process.env.DATABASES === 'all'

// drizzle-kit takes seconds on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

describe.each(await databaseKinds())('the schema for Drizzle in $name', (kind) => {
  const dialect = kind.name === 'SQLite' ? 'sqlite' : 'postgres'
  const schema = async () => {
    const { tables } = await schemaTables(definition.plugins, { schema: 'drizzle', dialect })
    return drizzleFile(tables, dialect)
  }

  /** Changes a membership by hand, as a user of the app sees it. */
  async function changeMembership(
    { api }: Auth<typeof definition.plugins>,
    { run }: TestDatabase,
    cookie: string,
  ): Promise<void> {
    const request = new Request('http://localhost:3000/', {
      method: 'POST',
      headers: { cookie, [CLIENT_HEADER]: '1' },
    })
    const { organization } = await api.createOrganization({ name: 'Acme', request })
    const { id } = organization
    const active = async () => {
      const { session } = await api.getSession({ request })
      return [session.activeOrganizationId, session.activeOrganizationRole]
    }
    expect(await active()).toEqual([id, 'owner'])
    await run(`update member set role = 'admin'`)
    expect(await active()).toEqual([id, 'admin'])
    await run('delete from member')
    expect(await active()).toEqual([null, null])
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
    const { expiresIn, headers } = await auth.api.signInEmail({ ...account, request })
    expect(expiresIn).toBe(900)
    const cookie = headers.getSetCookie().map((line) => line.slice(0, line.indexOf(';')))
    await changeMembership(auth, database, cookie.join('; '))
    await opened.close()
  }

  test('drizzle-kit push changes no table that our migrations created', async () => {
    const database = await kind.create()
    const opened = await database.open({ columns })
    ;(await createAuth(definition, opened)).close()
    const output = await drizzleApp(database.url, await schema()).push()
    // Drizzle can't declare keys that are checked at commit.
    const statements = output.split('\n').filter((line) => /^(alter|create|drop) /i.test(line))
    const dropped = 'ALTER TABLE "member" DROP CONSTRAINT "member_userId_fkey";'
    expect(statements).toEqual(dialect === 'sqlite' ? [] : [dropped])
  })

  test
    .runIf(IS_LONG || dialect === 'postgres')
    .for(IS_LONG ? (['migrate', 'push'] as const) : (['migrate'] as const))(
    'drizzle-kit %s creates the tables, in which push later finds no changes',
    async (command) => {
      const database = await kind.create()
      await expect(database.open({ columns, migrate: false })).rejects.toThrow('table user')
      const app = drizzleApp(database.url, await schema())
      await app[command]()
      await signIn(database)
      if (IS_LONG) expect(await app.push()).toContain('No changes')
      const users = await database.rows('select locale, credit from "user"')
      expect(users).toEqual([{ locale: 'en', credit: 1.5 }])
    },
  )
})
