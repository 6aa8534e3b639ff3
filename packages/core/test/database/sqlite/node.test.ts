import { expect, test } from 'vitest'
import { sqliteKind } from '../../support/database-kinds.ts'

const kind = sqliteKind()

test('a start that finds everything waits for no other process', async () => {
  const database = await kind.create()
  await database.open()
  await database.run('begin immediate')
  await (await database.open()).close()
  await database.run('rollback')
})

test('a new file has no triggers, and no table for them', async () => {
  const database = await kind.create()
  await database.open()
  expect(await database.rows(`select name from sqlite_schema where type = 'trigger'`)).toEqual([])
  expect(await database.rows(`select name from sqlite_schema where name like '%revocation%'`)).toEqual([])
})
