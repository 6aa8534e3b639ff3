import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { connectHttp, connectWebSocket } from '../support/connect.ts'
import { outcomeOf, refusalFor } from '../support/outcome.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { browser } from '../support/visitor.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterEach(() => server.clear())
afterAll(() => server.close())

const setRole = (userId: string, role: string) =>
  server.auth.db.updateTable('user').set({ role }).where('id', '=', userId).execute()

test.each([
  { role: 'user', users: false, drafts: false },
  { role: 'editor', users: false, drafts: true },
  { role: 'admin', users: true, drafts: true },
  { role: 'Admin', users: false, drafts: false },
  { role: 'admin,editor', users: false, drafts: false },
  { role: '', users: false, drafts: false },
])(
  'role "$role" is let in by requireRole("admin"): $users, by requireRole("editor", "admin"): $drafts',
  async (row) => {
    const session = await server.auth.signIn({ role: row.role })
    const client = connectWebSocket(server, browser(session))
    const refusal = refusalFor('ROLE_REQUIRED', { replay: true })
    expect((await outcomeOf(client.users.query())).refusal).toEqual(row.users ? null : refusal)
    expect((await outcomeOf(client.drafts.query())).refusal).toEqual(row.drafts ? null : refusal)
  },
)

test('the role is that of the row: who is demoted after signing in is refused at once, on the same connection', async () => {
  const session = await server.auth.signIn({ role: 'admin' })
  const socket = connectWebSocket(server, browser(session))
  const { client } = connectHttp(server, browser(session), 'httpLink over fetch')
  expect(await socket.users.query()).toBe('all of them')
  expect(await client.users.query()).toBe('all of them')

  await setRole(session.userId, 'user')
  for (const call of [socket.users.query(), client.users.query()])
    expect((await outcomeOf(call)).refusal).toEqual(refusalFor('ROLE_REQUIRED', { replay: true }))

  await setRole(session.userId, 'admin')
  expect(await socket.users.query()).toBe('all of them')
})

test('who has no session is asked for one, not for a role', async () => {
  const { client } = connectHttp(server, browser(), 'httpLink over node')
  expect((await outcomeOf(client.users.query())).refusal?.auth?.reason).toBe('TOKEN_MISSING')
})
