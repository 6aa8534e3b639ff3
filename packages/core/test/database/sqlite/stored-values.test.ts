import { join } from 'node:path'
import { type ProvedSession, validateSession } from '@sallyport/core'
import { openSqliteStore } from '@sallyport/core/sqlite'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { reasonOf } from '../../support/reason-of.ts'
import { type AppClient, SQLITE_CLIENTS } from '../../support/sqlite-clients.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const { config, close } = await createTestAuth()
afterAll(close)
const directory = temporaryDirectory()
const ada: ProvedSession = { sessionId: 's', userId: 'u', version: 1, issuer: config.issuer }

describe.each(Object.entries(SQLITE_CLIENTS))(
  'SQLite stores any value in any column; with %s',
  (name, open) => {
    let app: AppClient
    beforeAll(async () => {
      vi.spyOn(console, 'warn').mockReturnValue()
      app = open(join(directory, `${name.replace('/', '-')}.db`))
      await app.run(`
      create table user (id text primary key, name text, email text, role text, banned, banExpires);
      create table session (id text primary key, userId text, expiresAt, lastAuthenticatedAt);
      insert into user values ('u', 'Ada', 'ada@example.com', 'user', 0, null);
      insert into session values ('s', 'u', null, null)`)
    })
    afterAll(() => app.close())

    async function reasonsOf(dates: 'iso' | 'seconds' | 'milliseconds', changes: readonly string[]) {
      await app.run(
        `update session set expiresAt = ${{ iso: "'2099-01-01'", seconds: 4e9, milliseconds: 4e12 }[dates]}`,
      )
      await app.run('update user set banned = 0, banExpires = null')
      const store = await openSqliteStore({ client: app.client }, { mapping: { dates } })
      const reasons = new Set<string>()
      for (const change of changes) {
        await app.run(`update ${change}`)
        reasons.add(await reasonOf(validateSession(ada, store.sessions, config)))
      }
      await store.close()
      return [...reasons]
    }

    test('only 0 and null mean that a user is not banned', async () => {
      const banned = (values: readonly string[]) => values.map((value) => `user set banned = ${value}`)
      expect(await reasonsOf('iso', banned(['0', '0.0', 'null']))).toEqual(['accepted'])
      const others = ['1', '2', '-1', "'0'", "'false'", "'true'", "''", "x''", "x'00'"]
      expect(await reasonsOf('iso', banned(others))).toEqual(['ACCOUNT_BANNED'])
    })

    test.each([
      [
        'iso',
        [
          "'2026-01-01 00:00:00'",
          "''",
          "'never'",
          "'expired 2099'",
          "'20990101'",
          "x'32303939'",
          '4000000000',
          'null',
        ],
      ],
      ['seconds', ['1', "'2099-01-01'", '4000000000000', "''", "x'34'", '1e999', 'null']],
      ['milliseconds', ['1', '4000000000', "'4000000000000'", '4e15', "x'34'", '1e999', 'null']],
    ] as const)(
      'an end that is not a date as %s is in the past, and never ends a ban',
      async (dates, values) => {
        const expired = values.map((value) => `session set expiresAt = ${value}`)
        expect(await reasonsOf(dates, expired)).toEqual(['SESSION_EXPIRED'])
        const [past] = dates === 'iso' ? values : []
        const banned = values
          .filter((value) => value !== past)
          .map((value) => `user set banned = 1, banExpires = ${value}`)
        expect(await reasonsOf(dates, banned)).toEqual(['ACCOUNT_BANNED'])
      },
    )
  },
)
