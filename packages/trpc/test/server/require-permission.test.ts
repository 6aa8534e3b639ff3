import { createTestAuth } from '@sallyport/core/testing'
import {
  createAuthContext,
  type DatabaseContext,
  getSession,
  requireOrganizationRole,
  requireRole,
  sessionMiddleware,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { permissionGuards } from '../../src/server/require-permission.ts'
import { browser } from '../support/visitor.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())
const hasPermissions = vi.fn<typeof auth.config.hasPermissions>()
beforeEach(() => void hasPermissions.mockReset().mockReturnValue(true))

const config = {
  ...auth.config,
  hasPermissions,
  rolesOf: ({ role }: { role: string }) => role.split(','),
  memberRolesOf: (role: string) => role.split(','),
}
const t = initTRPC.context<DatabaseContext>().create()
const create = { project: ['create'] }
const MEMBER = { activeOrganizationId: 'o1', activeOrganizationRole: 'member,billing' }

/** Calls a procedure behind a guard, with these columns in the session. */
async function call(guard: unknown, columns: object, role = 'user'): Promise<unknown> {
  const ada = await auth.signIn({ role })
  const context = { auth: createAuthContext(config).headers(browser(ada).headers).auth, db: auth.db }
  const changed = t.procedure
    .use(sessionMiddleware)
    .use(({ ctx, next }) => next({ ctx: { session: { ...ctx.session, ...columns } } }))
  const guarded = changed.use(guard as typeof permissionGuards.forbidImpersonation)
  const router = t.router({
    read: guarded.query(({ ctx }) => ('organization' in ctx ? ctx.organization : 'read')),
  })
  return t
    .createCallerFactory(router)(context)
    .read()
    .catch((error) => error.cause.reason)
}

describe('requirePermission', () => {
  const guard = permissionGuards.requirePermission(create)

  test('asks about the session, its permissions, and the roles of the user', async () => {
    expect(await call(guard, {})).toBe('read')
    const session = expect.objectContaining({ user: expect.anything() })
    expect(hasPermissions.mock.calls).toEqual([[session, { permissions: create, of: 'user' }]])
  })

  test('rejects a user without them', async () => {
    hasPermissions.mockReturnValue(false)
    expect(await call(guard, {})).toBe('ROLE_REQUIRED')
  })
})

describe('requireOrganizationPermission', () => {
  const guard = permissionGuards.requireOrganizationPermission(create)

  test('asks about the roles in the organization, and adds it to the context', async () => {
    expect(await call(guard, MEMBER)).toEqual({ id: 'o1', role: 'member,billing' })
    expect(hasPermissions).toHaveBeenCalledExactlyOnceWith(expect.objectContaining(MEMBER), {
      permissions: create,
      of: 'organization',
    })
  })

  test('rejects a member without them', async () => {
    hasPermissions.mockReturnValue(false)
    expect(await call(guard, MEMBER)).toBe('ROLE_REQUIRED')
  })

  test.each([
    ['without an active organization', { ...MEMBER, activeOrganizationId: null }],
    ['without a role in it', { ...MEMBER, activeOrganizationRole: null }],
  ])('rejects a user %s, and asks nothing', async (_name, columns) => {
    expect(await call(guard, columns)).toBe('ROLE_REQUIRED')
    expect(hasPermissions).not.toHaveBeenCalled()
  })
})

test.each([
  ['the user', {}, 'read'],
  ['the user, in a table with that column', { impersonatedBy: null }, 'read'],
  ['an admin who acts as the user', { impersonatedBy: 'admin' }, 'ROLE_REQUIRED'],
])('forbidImpersonation: a call by %s', async (_name, columns, expected) => {
  expect(await call(permissionGuards.forbidImpersonation, columns)).toBe(expected)
})

test.each([
  ['admin', 'read'],
  ['user', 'ROLE_REQUIRED'],
])(
  'a role is also checked in a session that the app read without a middleware: %s',
  async (role, expected) => {
    const ada = await auth.signIn({ role })
    const read = t.procedure
      .use(async ({ ctx, next }) => next({ ctx: { session: await getSession(ctx) } }))
      .use(requireRole('admin'))
      .query(() => 'read')
    const context = { auth: createAuthContext(config).headers(browser(ada).headers).auth, db: auth.db }
    const outcome = t.router({ read }).createCaller(context).read()
    expect(await outcome.catch((error) => error.cause.reason)).toBe(expected)
  },
)

describe('one of several roles is enough', () => {
  test.each([
    ['support,admin', 'read'],
    ['support', 'ROLE_REQUIRED'],
    ['administrator', 'ROLE_REQUIRED'],
  ])('requireRole, for a user who is %s', async (role, expected) => {
    expect(await call(requireRole('admin', 'owner'), {}, role)).toBe(expected)
  })

  test.each([
    ['member,billing', { id: 'o1', role: 'member,billing' }],
    ['member', 'ROLE_REQUIRED'],
  ])('requireOrganizationRole, for a member who is %s', async (role, expected) => {
    const columns = { ...MEMBER, activeOrganizationRole: role }
    expect(await call(requireOrganizationRole('billing', 'owner'), columns)).toEqual(expected)
  })
})
