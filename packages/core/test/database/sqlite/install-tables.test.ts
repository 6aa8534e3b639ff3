import { expect, test } from 'vitest'
import { databaseKinds } from '../../support/database-kinds.ts'
import { literal, storeSession } from '../../support/stored-sessions.ts'

const [kind] = await databaseKinds()
const TRIGGERS = `select name from sqlite_schema where type = 'trigger'`
const MAPPING = { session: { columns: { version: 'version' } } }

test('a start that finds everything writes nothing', async () => {
  const database = await kind.create()
  await database.open()
  const version = () => database.rows('pragma data_version')
  const before = await version()
  await (await database.open()).close()
  expect(await version()).toEqual(before)
})

test('a new file has no triggers, and no table for them', async () => {
  const database = await kind.create()
  await database.open()
  expect(await database.rows(TRIGGERS)).toEqual([])
  expect(await database.rows(`select name from sqlite_schema where name like '%revocation%'`)).toEqual([])
})

test.each(['our own', "another library's"])(
  'a start drops the triggers of an early version from %s tables, and no others',
  async (whose) => {
    const database = await kind.create()
    await (await database.open()).close()
    const log = 'insert into sallyport_revocation_log values (old.id)'
    await database.run(`
      create trigger sallyport_session_deleted after delete on session begin ${log}; end;
      create trigger organization_session_changed after update on session begin ${log}; end;
      create trigger theirs after insert on session begin select 1; end`)
    await (whose === 'our own' ? database.open() : database.openStore(MAPPING))
    expect(await database.rows(TRIGGERS)).toEqual([{ name: 'theirs' }])
    const { sessionId } = await storeSession(database)
    await database.run(`
      update session set version = 2 where id = ${literal(sessionId)};
      delete from session where id = ${literal(sessionId)}`)
  },
)
