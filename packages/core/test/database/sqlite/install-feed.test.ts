import { openSqliteStore } from '@sallyport/core/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { databaseKinds, type TestDatabase } from '../../support/database-kinds.ts'
import { literal, storeSession, takeLog } from '../../support/stored-sessions.ts'

const [kind] = await databaseKinds()
const triggersOf = ({ rows }: TestDatabase) =>
  rows(`select name, tbl_name, sql from sqlite_schema where type = 'trigger' order by name`)

test('a file that we migrate has triggers, and a start restores those that another tool dropped or changed', async () => {
  const database = await kind.create()
  await database.open()
  const triggers = await triggersOf(database)
  expect(triggers).toHaveLength(6)
  await database.run(`drop trigger sallyport_session_deleted; drop trigger sallyport_user_changed;
    create trigger sallyport_user_changed after update on "user" begin select 1; end;
    create trigger sallyport_older after update on "user" begin select 1; end`)
  await database.open()
  expect(await triggersOf(database)).toEqual(triggers)
  const { sessionId, userId } = await storeSession(database)
  await database.run(`delete from session where id = ${literal(sessionId)}`)
  expect(await takeLog(database)).toEqual([[sessionId, userId]])
})

test('a start that finds everything writes nothing', async () => {
  const database = await kind.create()
  await database.open()
  const version = () => database.rows('pragma data_version')
  const before = await version()
  await (await database.open()).close()
  expect(await version()).toEqual(before)
})

test("another library's file gets no triggers, and loses those of an earlier version", async () => {
  const database = await kind.create()
  await database.run(`
    create table "user" (id text primary key, role text, banned integer, "banExpires" text);
    create table session (id text primary key, "userId" text, "expiresAt" text);
    create table sallyport_old (id text);
    create trigger sallyport_session_deleted after delete on session begin insert into sallyport_old values (old.id); end;
    create trigger theirs after insert on session begin select 1; end`)
  const mapping = {
    session: { columns: { lastAuthenticatedAt: null } },
    user: { columns: { name: null, email: null } },
  }
  const store = await openSqliteStore(database.url, { mapping })
  onTestFinished(store.close)
  expect((await triggersOf(database)).map(({ name }) => name)).toEqual(['theirs'])
  await database.run(
    `drop table sallyport_revocation_log; drop table sallyport_rate_limit; drop table sallyport_old`,
  )
  await database.run(
    `insert into session values ('s', 'u', ''); update session set id = 't'; delete from session`,
  )
  expect(await store.limits?.consume('k', { points: 1, duration: 60 })).toBeNull()
})
