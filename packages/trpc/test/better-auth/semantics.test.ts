import { authStore } from '@sallyport/core/internal/server'
import { beforeAll, describe, expect, test } from 'vitest'
import { adminUserIds, auth, database, migrate } from './app/auth.ts'
import { call, page, signUp } from './app/call.ts'
import { guard } from './app/guard.ts'
import { appRouter } from './app/router.ts'
import { cookieOf } from './create-auth.ts'

beforeAll(migrate)

type User = Awaited<ReturnType<typeof signUp>>
let ada: User
beforeAll(async () => {
  ada = await signUp('ada')
})

const setRole = (role: string | null, { userId } = ada) =>
  database.prepare('update user set role = ? where id = ?').run(role, userId)

describe('roles and permissions', () => {
  test.each([
    { role: 'user', admin: 'ROLE_REQUIRED', createProject: 'ROLE_REQUIRED' },
    { role: 'editor', admin: 'ROLE_REQUIRED', createProject: 'created' },
    { role: 'user,editor', admin: 'ROLE_REQUIRED', createProject: 'created' },
    { role: 'admin', admin: 'admin', createProject: 'created' },
    { role: 'editor,admin', admin: 'admin', createProject: 'created' },
    { role: 'administrator', admin: 'ROLE_REQUIRED', createProject: 'ROLE_REQUIRED' },
    { role: '', admin: 'ROLE_REQUIRED', createProject: 'ROLE_REQUIRED' },
    { role: null, admin: 'ROLE_REQUIRED', createProject: 'ROLE_REQUIRED' },
  ])('of a user with the role $role, as Better Auth decides', async ({ role, admin, createProject }) => {
    setRole(role)
    expect(await call('admin', page(ada.cookie))).toBe(admin)
    expect(await call('createProject', page(ada.cookie))).toBe(createProject)
    const body = { userId: ada.userId, permissions: { project: ['create' as const] } }
    const { success } = await auth.api.userHasPermission({ body })
    expect(success ? 'created' : 'ROLE_REQUIRED').toBe(createProject)
  })

  test('of a user whose role has the name of a member of every object', async () => {
    setRole('constructor')
    expect(await call('createProject', page(ada.cookie))).toBe('ROLE_REQUIRED')
  })

  test('of a user in adminUserIds', async () => {
    const root = await signUp('root')
    expect(await call('admin', page(root.cookie))).toBe('ROLE_REQUIRED')
    adminUserIds.push(root.userId)
    expect(await call('admin', page(root.cookie))).toBe('admin')
    expect(await call('createProject', page(root.cookie))).toBe('created')
  })
})

describe('in the active organization', () => {
  test.each([
    { role: 'owner', staff: 'ROLE_REQUIRED', payInvoice: 'owner' },
    { role: 'reader', staff: 'reader', payInvoice: 'ROLE_REQUIRED' },
    { role: 'reader,owner', staff: 'reader,owner', payInvoice: 'reader,owner' },
    { role: 'owner, reader', staff: 'owner, reader', payInvoice: 'owner, reader' },
    { role: 'other', staff: 'ROLE_REQUIRED', payInvoice: 'ROLE_REQUIRED' },
    { role: '', staff: 'ROLE_REQUIRED', payInvoice: 'ROLE_REQUIRED' },
  ])('a member with the role $role, as Better Auth decides', async ({ role, staff, payInvoice }) => {
    const { cookie, userId } = await signUp(`member-${role.replaceAll(/\W/g, '-')}`)
    expect(await call('staff', page(cookie))).toBe('ROLE_REQUIRED')
    expect(await call('payInvoice', page(cookie))).toBe('ROLE_REQUIRED')
    const headers = new Headers({ cookie })
    await auth.api.createOrganization({ headers, body: { name: 'org', slug: `org-${userId}` } })
    expect(await call('payInvoice', page(cookie))).toBe('owner')
    database.prepare('update member set role = ? where userId = ?').run(role, userId)
    expect(await call('staff', page(cookie))).toBe(staff)
    expect(await call('payInvoice', page(cookie))).toBe(payInvoice)
    const { success } = await auth.api.hasPermission({ headers, body: { permissions: { invoice: ['pay'] } } })
    expect(success).toBe(payInvoice === role)
    database.prepare('delete from member where userId = ?').run(userId)
    expect(await call('payInvoice', page(cookie))).toBe('ROLE_REQUIRED')
  })

  test('being an admin of the app is not enough', async () => {
    const root = await signUp('outsider')
    adminUserIds.push(root.userId)
    expect(await call('payInvoice', page(root.cookie))).toBe('ROLE_REQUIRED')
  })
})

describe('an impersonated session', () => {
  async function impersonate(user: User): Promise<string> {
    const root = await signUp(`root-${user.userId}`)
    adminUserIds.push(root.userId)
    const { headers } = await auth.api.impersonateUser({
      body: { userId: user.userId },
      headers: new Headers({ cookie: root.cookie, origin: 'http://localhost:3000' }),
      returnHeaders: true,
    })
    return cookieOf(headers)
  }

  test('is never fresh, and forbidImpersonation rejects it', async () => {
    const cookie = await impersonate(ada)
    expect(await call('me', page(cookie))).toBe(ada.email)
    expect(await call('pay', page(cookie))).toBe('SESSION_NOT_FRESH')
    expect(await call('ownAccount', page(cookie))).toBe('ROLE_REQUIRED')
    expect(await call('pay', page(ada.cookie))).toBe('paid')
    expect(await call('ownAccount', page(ada.cookie))).toBe('own')
  })
})

test('freshness follows freshAge', async () => {
  const { cookie, userId } = await signUp('old')
  const signedInAgo = (seconds: number) =>
    database
      .prepare('update session set createdAt = ? where userId = ?')
      .run(new Date(Date.now() - seconds * 1000).toISOString(), userId)
  signedInAgo(590)
  expect(await call('pay', page(cookie))).toBe('paid')
  signedInAgo(610)
  expect(await call('pay', page(cookie))).toBe('SESSION_NOT_FRESH')
  expect(guard.config.freshForSeconds).toBe(600)
})

describe('optionalSessionMiddleware', () => {
  test('treats callers as anonymous whom Better Auth treats so', async () => {
    expect(await call('visitor', {})).toBeNull()
    expect(await call('visitor', page(ada.cookie))).toBe(ada.email)
    const foreign = ada.cookie.replace(/session_token=[^.]+/, 'session_token=other')
    for (const cookie of [foreign, 'better-auth.session_token=unsigned', 'better-auth.session_token=a.b%']) {
      expect(await call('visitor', page(cookie))).toBeNull()
      expect(await call('me', page(cookie))).toBe('TOKEN_INVALID')
    }
    const { cookie } = await signUp('ended')
    await auth.api.signOut({ headers: new Headers({ cookie }) })
    expect(await call('visitor', page(cookie))).toBeNull()
  })

  test('rejects a banned user, two cookies, a foreign page, and a failed lookup', async () => {
    const { cookie, userId } = await signUp('banned')
    database.prepare('update user set banned = 1 where id = ?').run(userId)
    expect(await call('visitor', page(cookie))).toBe('ACCOUNT_BANNED')
    expect(await call('visitor', page(`${ada.cookie}; ${cookie}`))).toBe('COOKIE_CONFLICT')
    const evil = { cookie: ada.cookie, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    expect(await call('visitor', evil)).toBe('ORIGIN_REJECTED')
    database.exec('alter table session rename to gone')
    try {
      expect(await call('visitor', page(ada.cookie))).toBe('SESSIONS_UNAVAILABLE')
    } finally {
      database.exec('alter table gone rename to session')
    }
  })
})

test('a socket whose proof ends is not anonymous to optionalSessionMiddleware', async () => {
  const headers = { cookie: ada.cookie, origin: 'http://localhost:3000' }
  const handle = guard.ws({ req: { headers }, info: { connectionParams: null } })
  const { visitor } = appRouter.createCaller({ ...handle, db: guard.attach(database) })
  expect(await visitor()).toBe(ada.email)
  const context = await auth.$context
  const { secret } = context
  context.secret = 'another secret, as long as the first one was'
  try {
    await expect(visitor()).rejects.toMatchObject({ cause: { reason: 'TOKEN_INVALID' } })
  } finally {
    context.secret = secret
  }
})

describe('credentials', () => {
  test('a native app that sends its cookies as a header needs no Origin to query', async () => {
    const { cookie } = ada
    expect(await call('me', { cookie })).toBe(ada.email)
    expect(await call('rename', { cookie }, 'POST')).toBe('ORIGIN_REJECTED')
    expect(await call('rename', { cookie, 'x-sallyport': '1' }, 'POST')).toBe('renamed')
  })

  test('two equal cookies are one', async () => {
    expect(await call('me', page(`${ada.cookie}; ${ada.cookie}`))).toBe(ada.email)
  })

  test('a bearer token must be signed', async () => {
    const signed = decodeURIComponent(ada.cookie.replace(/^.*session_token=([^;]+).*$/, '$1'))
    expect(await call('me', { authorization: `Bearer ${signed}` })).toBe(ada.email)
    expect(await call('me', { authorization: `Bearer ${ada.token}` })).toBe('TOKEN_INVALID')
    expect(await call('visitor', { authorization: `Bearer ${ada.token}` })).toBeNull()
  })

  test('pages of trustedOrigins may use the cookie', async () => {
    const headers = { cookie: ada.cookie, 'sec-fetch-site': 'cross-site' }
    expect(await call('me', { ...headers, origin: 'https://pages.example.com' })).toBe(ada.email)
    expect(await call('me', { ...headers, origin: 'myapp://' })).toBe('ORIGIN_REJECTED')
  })
})

test('a stream ends when its user loses the permission', async () => {
  setRole('editor')
  const db = guard.attach(database)
  const caller = appRouter.createCaller({ ...guard.headers(page(ada.cookie)), db })
  const stream = (await caller.editors())[Symbol.asyncIterator]()
  expect(await stream.next()).toEqual({ done: false, value: 'ready' })
  setRole('user')
  db[authStore].revocations.publish({ sessionId: null, userId: ada.userId })
  await expect(stream.next()).rejects.toMatchObject({ cause: { reason: 'ROLE_REQUIRED' } })
})
