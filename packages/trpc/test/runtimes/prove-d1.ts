import assert from 'node:assert/strict'
import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { issueJwt, parseSigningKeys } from '@sallyport/core/auth'
import { expireJwt } from '../../../../scripts/test-apps/expire-jwt.ts'
import { expectCalls, expectEnds, meWith } from './expect-calls.ts'
import { emailOf, openUser } from './open-user.ts'
import type { ServedWorker } from './serve-worker.ts'

const TABLES = [
  'create table user (id text primary key, name text, email text, role text, banned integer, banExpires integer)',
  'create table session (id text primary key, userId text, expiresAt integer, createdAt integer)',
]

/** Signs users in as another library does, with rows and tokens, and proves the guards of a Worker. */
export async function proveD1(
  { origin, database }: ServedWorker,
  keys: Readonly<Record<'JWKS' | 'SIGNING_KEYS', string>>,
): Promise<void> {
  const config = defineAuthConfig({ baseUrl: origin, jwks: staticJwks(keys.JWKS) })
  const { active: key } = parseSigningKeys(keys.SIGNING_KEYS)
  const app = { origin, calls: `${origin}/trpc` }
  const run = (sql: string) => database.prepare(sql).run()
  for (const table of TABLES) await run(table)

  async function signIn(name: string) {
    const expiresAt = new Date(Date.now() + 3_600_000)
    await run(`insert into user values ('${name}', '${name}', '${emailOf(name)}', 'user', 0, null)`)
    await run(`insert into session values ('of ${name}', '${name}', ${expiresAt.getTime()}, ${Date.now()})`)
    const { token } = await issueJwt({ id: `of ${name}`, userId: name, expiresAt }, { key, config })
    return { token, cookie: `service.jwt=${token}`, user: openUser(app, `service.jwt=${token}`) }
  }

  assert.deepEqual(await meWith(app, ''), [401, 'TOKEN_MISSING'])
  const ada = await signIn('Ada')
  await expectCalls(ada.user, [emailOf('Ada'), 'ROLE_REQUIRED', 'Ada'])
  const expired = `service.jwt=${expireJwt(ada.token, keys.SIGNING_KEYS)}`
  assert.deepEqual(await meWith(app, expired), [401, 'TOKEN_EXPIRED'])
  await run(`update user set role = 'admin'`)
  await expectCalls(ada.user, [emailOf('Ada'), emailOf('Ada'), 'Ada'])

  const grace = await signIn('Grace')
  const ban = () => run(`update user set banned = 1 where id = 'Grace'`)
  await expectEnds(grace.user, { by: ban, reason: 'ACCOUNT_BANNED' })
  assert.deepEqual(await meWith(app, grace.cookie), [403, 'ACCOUNT_BANNED'])
  await expectEnds(ada.user, { by: () => run('delete from session'), reason: 'SESSION_NOT_FOUND' })
  assert.deepEqual(await meWith(app, ada.cookie), [401, 'SESSION_NOT_FOUND'])
}
