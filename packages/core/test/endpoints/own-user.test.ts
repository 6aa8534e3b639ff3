import { createAuth } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dumpTables } from '../support/dump-tables.ts'
import { insertLink } from '../support/insert-link.ts'
import { readAudit } from '../support/read-audit.ts'
import { cookieChanges, cookiesAfter, get, post } from '../support/requests.ts'
import { serveInterrupted } from '../support/serve-interrupted.ts'
import { statusOf } from '../support/status-of.ts'
import { subscribeToSession } from '../support/subscribe-to-session.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())

let ada: TestSession & { email: string }
beforeEach(async () => {
  const user = await auth.createUser()
  ada = { ...user, ...(await auth.signIn(user)) }
})
afterEach(() => auth.db.deleteFrom('user').execute())

const userRow = (userId: string) =>
  auth.db.selectFrom('user').selectAll().where('id', '=', userId).executeTakeFirst()
const setRole = (userId: string, role: string) =>
  auth.db.updateTable('user').set({ role }).where('id', '=', userId).execute()

describe('GET /session', () => {
  const getSession = (cookie = ada.cookie) => auth.handler(get(ENDPOINTS.getSession.path, { cookie }))

  test('returns only the session and the user', async () => {
    const now = auth.clock.now().toISOString()
    const response = await getSession()
    expect(await response.json()).toEqual({
      session: {
        id: ada.sessionId,
        createdAt: now,
        lastSeenAt: now,
        lastAuthenticatedAt: now,
        expiresAt: new Date(auth.clock.now().getTime() + 30 * 24 * 3_600_000).toISOString(),
        amr: ['pwd'],
        address: null,
        device: null,
        current: true,
      },
      user: {
        id: ada.userId,
        name: 'Test User',
        email: ada.email,
        emailVerified: false,
        image: null,
        role: 'user',
        createdAt: now,
      },
    })
  })

  test('returns the current row, not the values from the JWT or the sign-in', async () => {
    const changed = {
      role: 'admin',
      name: 'Countess',
      emailVerified: true,
      image: 'https://example.com/a.png',
    }
    await auth.db.updateTable('user').set(changed).where('id', '=', ada.userId).execute()
    expect((await (await getSession()).json()).user).toMatchObject(changed)
  })

  test('is 401 if the session ends after its caller was authenticated', async () => {
    const { handler, interrupt } = await serveInterrupted(auth)
    interrupt(() => auth.revoke(ada))
    const response = await handler(get(ENDPOINTS.getSession.path, { cookie: ada.cookie }))
    expect(await statusOf(response)).toBe('401 SESSION_NOT_FOUND')
  })

  test('is 401 if the user is deleted between its two reads', async () => {
    let hasResponded = true
    const db = auth.db.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (!hasResponded) await auth.db.deleteFrom('user').where('id', '=', ada.userId).execute()
        hasResponded = true
        return result
      },
    })
    const { handler } = await createAuth(auth.definition, { ...auth.database, db }, { pruneEverySeconds: 0 })
    hasResponded = false
    const response = await handler(get(ENDPOINTS.getSession.path, { cookie: ada.cookie }))
    expect(await statusOf(response)).toBe('401 SESSION_NOT_FOUND')
  })
})

describe('POST /update-user', () => {
  const updateUser = (body: unknown) =>
    auth.handler(post(ENDPOINTS.updateUser.path, body, { cookie: ada.cookie }))

  test.each([
    [{ name: 'Countess' }, { name: 'Countess', image: null }],
    [{ name: '  Ada of Lovelace\t' }, { name: 'Ada of Lovelace', image: null }],
    ...[
      'J.R.R. Tolkien',
      'St.John',
      'Dr. No',
      'Acme & Co.',
      'O’Brien-Núñez, Jr.',
      'Владимир',
      'محمد',
      'प्रिया',
      '王小明',
      'Ada ❤️',
      'Ada 👩🏽',
      'Nguyễn Thị',
    ].map((name): [object, object] => [{ name }, { name, image: null }]),
    [{ image: 'https://example.com/a.png' }, { name: 'Test User', image: 'https://example.com/a.png' }],
    [
      { image: 'https://cdn.example.com:8443/a' },
      { name: 'Test User', image: 'https://cdn.example.com:8443/a' },
    ],
    [{ image: 'https://93.184.216.34/a.png' }, { name: 'Test User', image: 'https://93.184.216.34/a.png' }],
    [{ image: ' https://EXAMPLE.com/a b' }, { name: 'Test User', image: 'https://example.com/a%20b' }],
    [{ image: null }, { name: 'Test User', image: null }],
    [
      { name: 'x'.repeat(128), image: null },
      { name: 'x'.repeat(128), image: null },
    ],
    [{ name: 'علی\u200Cرضا' }, { name: 'علی\u200Cرضا' }],
    [{ name: 'ශ\u0DCA\u200Dරී' }, { name: 'ශ\u0DCA\u200Dරී' }],
    [{ name: '👩🏽\u200D💻' }, { name: '👩🏽\u200D💻' }],
    [{}, { name: 'Test User', image: null }],
  ])('%j changes the caller, and returns the user', async (body, changed) => {
    const bob = await auth.createUser()
    const [row, bobsRow] = [await userRow(ada.userId), await userRow(bob.userId)]
    auth.clock.advance(60)
    const response = await updateUser(body)
    expect(response.status).toBe(200)
    expect((await response.json()).user).toMatchObject({ id: ada.userId, email: ada.email, ...changed })
    const updatedAt = auth.clock.now().toISOString()
    expect(await userRow(ada.userId)).toEqual({ ...row, ...changed, updatedAt })
    expect(await userRow(bob.userId)).toEqual(bobsRow)
  })

  test('removes an image', async () => {
    await updateUser({ image: 'https://example.com/a.png' })
    await updateUser({ image: null })
    expect(await userRow(ada.userId)).toMatchObject({ image: null })
  })

  test.each([
    [{ name: '' }, ['name']],
    [{ name: ' ' }, ['name']],
    [{ name: 'x'.repeat(129) }, ['name']],
    [{ name: 'Ada\nBcc: eve@example.com' }, ['name']],
    ...[
      'Ada\u0000',
      'Ada\u202Eevol',
      'Ada\u2066x\u2069',
      'A\u200Bda',
      'A\u200Dda',
      'علی\u200C',
      'علی\u200C\u200Cرضا',
      'A\u00ADda',
      'A\uFE0Fda',
      'A\u{E0061}da',
      'A\u2028da',
      '\u2800',
      'Ada\uD800',
      'https://evil.example/x',
      'Win at evil.example now',
      'www.evil',
      'Ada (evil.io/reset)',
      'ada@example.com',
      'президент.рф',
      'evil.ك\u200Cوم',
      '例え。テスト',
    ].map((name): [object, string[]] => [{ name }, ['name']]),
    [{ name: null }, ['name']],
    [{ name: 1 }, ['name']],
    [{ image: '' }, ['image']],
    [{ image: 'a.png' }, ['image']],
    [{ image: '//example.com/a.png' }, ['image']],
    [{ image: 'javascript:alert(1)' }, ['image']],
    [{ image: 'data:image/png;base64,AAAA' }, ['image']],
    [{ image: 'file:///etc/passwd' }, ['image']],
    ...[
      'http://example.com/a.png',
      'https://user:password@example.com/a.png',
      'https://localhost/a.png',
      'https://app.localhost/a.png',
      'https://printer.local/a.png',
      'https://metadata.google.internal/a.png',
      'https://127.0.0.1/a.png',
      'https://2130706433/a.png',
      'https://169.254.169.254/a.png',
      'https://0.0.0.0/a.png',
      'https://[::1]/a.png',
      'https://[fe80::1]/a.png',
      'https://[::ffff:10.0.0.1]/a.png',
      'https://[64:ff9b::a00:1]/a.png',
      'https://[2002:a00:1::]/a.png',
    ].map((image): [object, string[]] => [{ image }, ['image']]),
    [{ image: `https://example.com/${'x'.repeat(2_048)}` }, ['image']],
    [{ id: 'x' }, ['id']],
    [{ email: 'eve@example.com' }, ['email']],
    [{ emailVerified: true }, ['emailVerified']],
    [{ role: 'admin' }, ['role']],
    [{ banned: false, banReason: null, banExpires: null }, ['banned', 'banReason', 'banExpires']],
    [{ name: 'Ada', role: 'admin' }, ['role']],
    [{ password: 'another rare password' }, ['password']],
    [[{ name: 'Ada' }], undefined],
    ['Ada', undefined],
    [null, undefined],
  ])('%j is 400 and changes nothing', async (body, fields) => {
    const before = await dumpTables(auth)
    const response = await updateUser(body)
    const answer = await response.json()
    expect({ status: response.status, code: answer.code, fields: answer.fields }).toEqual({
      status: 400,
      code: 'INVALID_INPUT',
      fields,
    })
    expect(await dumpTables(auth)).toEqual(before)
  })

  test('ignores a member named __proto__, so it makes no user an admin', async () => {
    const body = '{"name":"Ada","__proto__":{"role":"admin"}}'
    const request = post(ENDPOINTS.updateUser.path, undefined, {
      cookie: ada.cookie,
      'content-type': 'application/json',
    })
    await auth.handler(new Request(request, { body }))
    expect(await userRow(ada.userId)).toMatchObject({ role: 'user' })
  })
})

describe('POST /delete-user', () => {
  const deleteUser = (cookie = ada.cookie) =>
    auth.handler(post(ENDPOINTS.deleteUser.path, undefined, { cookie }))

  test('deletes the caller and everything that belongs to them, and no other user', async () => {
    const bob = await auth.createUser()
    const bobs = await auth.signIn(bob)
    await insertLink(auth, { kind: 'reset-password', ...ada })
    const signedIn = await auth.handler(
      post(ENDPOINTS.signInEmail.path, { email: ada.email, password: TEST_PASSWORD }),
    )
    expect(await dumpTables(auth)).toMatchObject({ verification: [{}], knownDevice: [{}] })

    const response = await deleteUser()
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ success: true })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: ['service.jwt', 'service.session'] })
    const after = await dumpTables(auth)
    expect(after.user).toMatchObject([{ id: bob.userId }])
    expect(after.account).toMatchObject([{ userId: bob.userId }])
    expect(after.session).toMatchObject([{ id: bobs.sessionId }])
    expect(after).toMatchObject({ verification: [], knownDevice: [] })
    for (const cookie of [ada.cookie, cookiesAfter('', signedIn)])
      expect(await statusOf(auth.handler(get(ENDPOINTS.getSession.path, { cookie })))).toBe(
        '401 SESSION_NOT_FOUND',
      )
  })

  test('records the end of each session and of the user', async () => {
    const elsewhere = await auth.signIn(ada)
    await deleteUser()
    const records = await readAudit(auth, ada.userId)
    const ended = { type: 'session.revoked', cause: 'user-deleted', actorId: null, address: null }
    expect(records.slice(-3)).toEqual(
      expect.arrayContaining([
        { ...ended, sessionId: ada.sessionId },
        { ...ended, sessionId: elsewhere.sessionId },
        { type: 'user.deleted', sessionId: null, actorId: null, address: null },
      ]),
    )
  })

  test("ends the live streams of all the user's sessions, and no others", async () => {
    const [elsewhere, bob] = [await auth.signIn(ada), await auth.signIn()]
    const [here, there, others] = [ada, elsewhere, bob].map((session) => subscribeToSession(auth, session))
    await deleteUser()
    expect(here).toHaveBeenCalled()
    expect(there).toHaveBeenCalled()
    expect(others).not.toHaveBeenCalled()
  })

  test('requires a recent sign-in, or the password again', async () => {
    const lastAuthenticatedAt = new Date(auth.clock.now().getTime() - auth.config.freshForSeconds * 1000 - 1)
    await auth.db.updateTable('session').set({ lastAuthenticatedAt }).execute()
    expect(await statusOf(deleteUser())).toBe('403 SESSION_NOT_FRESH')
    expect(await userRow(ada.userId)).toBeDefined()
    const confirmed = await auth.handler(
      post(ENDPOINTS.reauthenticate.path, { password: TEST_PASSWORD }, { cookie: ada.cookie }),
    )
    expect((await deleteUser(cookiesAfter(ada.cookie, confirmed))).status).toBe(200)
    expect(await userRow(ada.userId)).toBeUndefined()
  })

  test('a sign-in stays fresh for exactly the configured time', async () => {
    const strict = await createTestAuth({ session: { freshForSeconds: 60 } })
    const call = async ({ cookie }: TestSession) =>
      statusOf(strict.handler(post(ENDPOINTS.deleteUser.path, undefined, { cookie })))
    const [bob, carol] = [await strict.signIn(), await strict.signIn()]
    strict.clock.advance(60)
    expect(await call(bob)).toBe('200')
    strict.clock.advance(0.001)
    expect(await call(carol)).toBe('403 SESSION_NOT_FRESH')
    await strict.close()
  })

  describe('of an admin', () => {
    test('is 409 for the last admin, who stays', async () => {
      await setRole(ada.userId, 'admin')
      const before = await dumpTables(auth)
      expect(await statusOf(deleteUser())).toBe('409 LAST_ADMIN')
      expect(await dumpTables(auth)).toEqual(before)
    })

    test('succeeds if there is another admin', async () => {
      await setRole(ada.userId, 'admin')
      await auth.createUser({ role: 'admin' })
      expect((await deleteUser()).status).toBe(200)
    })

    test.each([
      ['is banned', '409 LAST_ADMIN', null],
      ['is banned for a while', '409 LAST_ADMIN', 1],
      ['was banned until now', '200', 0],
    ])('if the only other admin %s: %s', async (_name, answer, milliseconds) => {
      await setRole(ada.userId, 'admin')
      const { userId } = await auth.createUser({ role: 'admin' })
      const banExpires = milliseconds === null ? null : new Date(auth.clock.now().getTime() + milliseconds)
      await auth.db.updateTable('user').set({ banned: true, banExpires }).where('id', '=', userId).execute()
      expect(await statusOf(deleteUser())).toBe(answer)
    })

    test('of both admins at the same time leaves one', async () => {
      await setRole(ada.userId, 'admin')
      const bob = await auth.signIn({ role: 'admin' })
      const answers = await Promise.all([deleteUser(), deleteUser(bob.cookie)])
      expect((await Promise.all(answers.map(statusOf))).sort()).toEqual(['200', '409 LAST_ADMIN'])
      expect(await auth.db.selectFrom('user').select('role').execute()).toEqual([{ role: 'admin' }])
    })

    test('rejects a user who became the last admin after they were authenticated', async () => {
      const { handler, interrupt } = await serveInterrupted(auth)
      interrupt(() => setRole(ada.userId, 'admin'))
      const response = await handler(post(ENDPOINTS.deleteUser.path, undefined, { cookie: ada.cookie }))
      expect(await statusOf(response)).toBe('409 LAST_ADMIN')
      expect(await userRow(ada.userId)).toMatchObject({ role: 'admin' })
    })
  })
})
