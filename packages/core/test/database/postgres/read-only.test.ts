import { createAuth, defineAuth } from '@sallyport/core/auth'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { openPostgres } from '@sallyport/core/postgres'
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createIssuer } from '../../support/create-issuer.ts'
import { closeLater, postgresKind, type TestDatabase } from '../../support/database-kinds.ts'
import { PATIENT, PATIENT_SESSION, testPostgres } from '../../support/postgres.ts'
import { storeSession } from '../../support/stored-sessions.ts'

const kind = postgresKind(await testPostgres())
const { config, signingKeys } = await createIssuer({ session: PATIENT_SESSION })
const columns = { user: {}, session: { team: { type: 'text' } } } as const
const definition = defineAuth({ config, signingKeys, plugins: [emailPassword()] })

const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
afterAll(() => warn.mockRestore())
const warnings = () => warn.mock.calls.map(([text]) => String(text))
beforeEach(() => void warn.mockClear())

/** Makes new transactions read-only, as managed servers do on a full disk. */
async function makeReadOnly({ url, run }: TestDatabase): Promise<void> {
  const { pathname } = new URL(url)
  await run(`alter database ${pathname.slice(1)} set default_transaction_read_only = on`)
}

async function start(database: TestDatabase) {
  const opened = closeLater(await openPostgres(database.url, { ...PATIENT, columns }))
  const auth = await createAuth(definition, opened, { pruneEverySeconds: 0 })
  onTestFinished(() => auth.close())
  return { auth, sessions: opened.sessions }
}

describe('a primary that is read-only', () => {
  test('serves sessions if nothing has to be created, and readiness reports it', async () => {
    const database = await kind.create()
    await (await start(database)).auth.close()
    const ada = await storeSession(database)
    await makeReadOnly(database)
    const { auth, sessions } = await start(database)
    expect(warnings()).toEqual([expect.stringContaining('the database is read-only or full')])
    expect(await sessions.findSession(ada)).toMatchObject({ id: ada.sessionId })
    expect(await auth.readiness()).toMatchObject({ read: 'ok', write: 'DATABASE_READ_ONLY' })
  })

  test.each([
    ['our tables', ''],
    ['a column', 'alter table session drop column team'],
    ['a trigger', 'drop trigger sallyport_session_deleted on session'],
  ])('does not start if it lacks %s', async (_name, statement) => {
    const database = await kind.create()
    if (statement !== '') {
      await (await start(database)).auth.close()
      await database.run(statement)
    }
    await makeReadOnly(database)
    await expect(start(database)).rejects.toMatchObject({ code: expect.stringMatching(/^25/) })
  })
})
