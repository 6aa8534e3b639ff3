import { describe, expect, test } from 'vitest'
import {
  type DatabaseKind,
  databaseKinds,
  type OpenStore,
  type TestDatabase,
} from '../support/database-kinds.ts'
import { betterAuthSql, betterAuthTables } from '../support/host-tables.ts'

const LIMIT = { points: 2, duration: 60 }

/** What Better Auth 1.7 does with `rateLimit: { storage: 'database' }`. */
const CREATE = `create table "rateLimit" (
  id text primary key, key text not null unique, count integer not null, "lastRequest" bigint not null)`
const INSERT = `insert into "rateLimit" values ('1', 'ip/sign-in', 1, 1800000000000)`
const INCREASE = `update "rateLimit" set count = count + 1 where key = 'ip/sign-in'`

/** Counts in both tables. */
async function expectBothCount(
  { rows, run }: TestDatabase,
  { limits }: Pick<OpenStore, 'limits'>,
): Promise<void> {
  await run(INSERT)
  const results = [await limits?.consume('ada', LIMIT), await limits?.consume('ada', LIMIT)]
  expect(results).toEqual([null, null])
  await run(INCREASE)
  expect(await limits?.consume('ada', LIMIT)).toBeGreaterThan(0)
  expect(await rows('select id, key, count from "rateLimit"')).toEqual([
    { id: '1', key: 'ip/sign-in', count: 2 },
  ])
}

const OPENINGS: readonly {
  name: string
  isMapped: boolean
  open(database: TestDatabase, engine: DatabaseKind['name']): Promise<Pick<OpenStore, 'limits'>>
}[] = [
  {
    name: 'a mapped store',
    isMapped: true,
    open: (database, engine) => database.openStore(betterAuthTables(engine).mapping ?? {}),
  },
  { name: 'our own tables', isMapped: false, open: (database) => database.open() },
]

describe.each(await databaseKinds())(
  '$name: the rateLimit table of Better Auth and the counters of',
  (kind) => {
    test.each(OPENINGS)('$name both count, whichever is created first', async ({ isMapped, open }) => {
      const first = await kind.create()
      if (isMapped) await first.run(betterAuthSql(kind.name))
      await first.run(CREATE)
      await expectBothCount(first, await open(first, kind.name))

      const second = await kind.create()
      if (isMapped) await second.run(betterAuthSql(kind.name))
      const opened = await open(second, kind.name)
      await second.run(CREATE)
      await expectBothCount(second, opened)
    })
  },
)
