import { EventEmitter, on } from 'node:events'
import { organization } from '@sallyport/core/plugins/organization'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import {
  bindSession,
  createAuthContext,
  type DatabaseContext,
  requireOrganizationRole,
  sessionMiddleware,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { afterAll, afterEach, describe, expect, expectTypeOf, test } from 'vitest'
import { outcomeOf, rejectionFor } from '../support/outcome.ts'
import { soon } from '../support/soon.ts'
import { readStream, type Stream } from '../support/stream.ts'
import { browser } from '../support/visitor.ts'

const denials: string[] = []
const auth = await createTestAuth({
  plugins: [organization({ roles: ['billing'] })],
  onEvent: (event) => void (event.type === 'decision.denied' && denials.push(event.reason)),
})
const { api } = auth
afterAll(() => auth.close())
afterEach(() => {
  denials.length = 0
})

interface Context extends DatabaseContext {
  readonly db: typeof auth.db
  readonly meanwhile?: () => Promise<unknown>
}

const t = initTRPC.context<Context>().create()
const bound = bindSession<typeof auth.definition>()
const protectedProcedure = t.procedure.use(bound.sessionMiddleware)
const staffProcedure = protectedProcedure.use(requireOrganizationRole('owner', 'admin'))
/** Runs the test's change between the guard and the resolver. */
const slow = t.middleware(async ({ ctx, next }) => {
  await ctx.meanwhile?.()
  return next()
})

const ticker = new EventEmitter()

/** Yields `ready` once it listens, and then the test's values. */
async function* ticks({ ctx }: { ctx: { auth: { signal: AbortSignal } } }): AsyncGenerator<string> {
  const events = on(ticker, 'tick', { signal: ctx.auth.signal })
  yield 'ready'
  for await (const [value] of events) yield String(value)
}

const router = t.router({
  staff: staffProcedure.query(({ ctx }) => {
    expectTypeOf(ctx.organization).toEqualTypeOf<{ readonly id: string; readonly role: string }>()
    expectTypeOf(ctx.session.activeOrganizationId).toEqualTypeOf<string | null>()
    expectTypeOf(ctx.session.activeOrganizationRole).toEqualTypeOf<string | null>()
    return ctx.organization
  }),
  billing: protectedProcedure.use(requireOrganizationRole('billing')).query(() => 'bills'),
  clock: staffProcedure.subscription(ticks),
  free: protectedProcedure.subscription(ticks),
  write: t.procedure
    .use(bound.sensitiveSessionMiddleware)
    .use(requireOrganizationRole('owner', 'admin'))
    .use(slow)
    .mutation(({ ctx }) =>
      ctx.transaction(async (trx) => {
        await trx.updateTable('user').set({ name: 'Written' }).where('id', '=', ctx.session.userId).execute()
        return ctx.organization.id
      }),
    ),
})

function callerFor(session?: TestSession, meanwhile?: () => Promise<unknown>) {
  const { auth: handle } = createAuthContext(auth.config).headers(browser(session).headers)
  return t.createCallerFactory(router)({ auth: handle, db: auth.db, ...(meanwhile && { meanwhile }) })
}

const requestOf = ({ cookie }: TestSession) =>
  new Request('http://localhost:3000/', { method: 'POST', headers: { cookie, 'x-sallyport': '1' } })

/** Creates a user with a role in their session's active organization, and its owner. */
async function join(role: string) {
  const [owner, person] = [await auth.signIn(), await auth.signIn()]
  const { organization } = await api.createOrganization({ name: 'Acme', request: requestOf(owner) })
  await insertMember(organization.id, person, role)
  const request = requestOf(person)
  await api.setActiveOrganization({ organizationId: organization.id, request })
  const target = { organizationId: organization.id, userId: person.userId, request: requestOf(owner) }
  return { organizationId: organization.id, owner, person, request, target }
}

async function insertMember(organizationId: string, { userId }: TestSession, role: string): Promise<void> {
  type Tables = { member: Record<'id' | 'organizationId' | 'userId' | 'role', string> & { createdAt: Date } }
  const row = { id: crypto.randomUUID(), organizationId, userId, role, createdAt: auth.clock.now() }
  await auth.db.$extendTables<Tables>().insertInto('member').values(row).execute()
}

test.each([
  { role: 'owner', staff: true, billing: false },
  { role: 'admin', staff: true, billing: false },
  { role: 'member', staff: false, billing: false },
  { role: 'billing', staff: false, billing: true },
  { role: 'Owner', staff: false, billing: false },
  { role: 'owner,admin', staff: false, billing: false },
  { role: '', staff: false, billing: false },
])('role "$role" is accepted by ("owner", "admin"): $staff, by ("billing"): $billing', async (row) => {
  const { person, organizationId } = await join(row.role)
  const caller = callerFor(person)
  const rejection = rejectionFor('ROLE_REQUIRED', { replay: false })
  const staff = await outcomeOf(caller.staff())
  expect(staff).toEqual(
    row.staff ? { data: { id: organizationId, role: row.role }, rejection: null } : { rejection },
  )
  expect((await outcomeOf(caller.billing())).rejection).toEqual(row.billing ? null : rejection)
})

test('a session without an active organization is rejected, with any roles of the user', async () => {
  const { person, request } = await join('owner')
  await api.setActiveOrganization({ organizationId: null, request })
  const root = await auth.signIn({ role: 'admin' })
  for (const session of [person, await auth.signIn({ userId: person.userId }), root])
    expect((await outcomeOf(callerFor(session).staff())).rejection?.auth?.reason).toBe('ROLE_REQUIRED')
})

test('a caller without a session gets TOKEN_MISSING, not ROLE_REQUIRED', async () => {
  expect((await outcomeOf(callerFor().staff())).rejection?.auth?.reason).toBe('TOKEN_MISSING')
})

test('a missing plugin is a type error, and no call is authorized', async () => {
  const bare = await createTestAuth()
  const routed = initTRPC.context<DatabaseContext>().create()
  const guarded = routed.procedure.use(sessionMiddleware)
  // @ts-expect-error the session has no organization
  const procedure = guarded.use(requireOrganizationRole('owner')).query(() => 'in')
  const { auth: handle } = createAuthContext(bare.config).headers(browser(await bare.signIn()).headers)
  const caller = routed.router({ procedure }).createCaller({ auth: handle, db: bare.db })
  expect((await outcomeOf(caller.procedure())).rejection?.auth?.reason).toBe('ROLE_REQUIRED')
  await bare.close()
})

/** Waits for a stream to start. */
async function open(answer: Promise<AsyncIterable<string>>): Promise<Stream> {
  const iterable = await answer
  const stream = readStream(iterable, () => void iterable[Symbol.asyncIterator]().return?.())
  expect((await stream.first).rejection).toBeNull()
  return stream
}

type Joined = Awaited<ReturnType<typeof join>>
const LOSSES: { what: string; lose: (joined: Joined) => Promise<unknown> }[] = [
  { what: 'is demoted', lose: ({ target }) => api.setMemberRole({ ...target, role: 'member' }) },
  { what: 'is removed', lose: ({ target }) => api.removeMember(target) },
  {
    what: 'leaves',
    lose: ({ target, request }) => api.removeMember({ ...target, request }),
  },
  {
    what: 'has no active organization',
    lose: ({ request }) => api.setActiveOrganization({ organizationId: null, request }),
  },
  {
    what: 'works elsewhere, with the same role',
    async lose({ person, request }) {
      const { organizationId } = await join('member')
      await insertMember(organizationId, person, 'admin')
      await api.setActiveOrganization({ organizationId, request })
    },
  },
  {
    what: 'sees the organization deleted',
    lose: ({ organizationId, owner }) =>
      api.deleteOrganization({ organizationId, request: requestOf(owner) }),
  },
]

describe.each(LOSSES)('a user who $what', ({ what, lose }) => {
  test('is rejected from the next call on', async () => {
    const joined = await join('admin')
    expect((await outcomeOf(callerFor(joined.person).staff())).rejection).toBeNull()
    await lose(joined)
    const rejection = (await outcomeOf(callerFor(joined.person).staff())).rejection
    expect(rejection?.auth?.reason ?? null).toBe(what.startsWith('works elsewhere') ? null : 'ROLE_REQUIRED')
  })

  test('loses the streams of that role, and no others', async () => {
    const joined = await join('admin')
    const stream = await open(callerFor(joined.person).clock())
    const free = await open(callerFor(joined.person).free())
    await lose(joined)
    expect((await stream.ended)?.auth).toMatchObject({ reason: 'ROLE_REQUIRED', replay: false })
    await soon(() => expect(denials).toEqual(['ROLE_REQUIRED']))
    ticker.emit('tick', 'still here')
    await soon(() => expect(free.values).toEqual(['ready', 'still here']))
    expect(stream.values).toEqual(['ready'])
    free.unsubscribe()
  })

  test("can't write with ctx.transaction", async () => {
    const joined = await join('admin')
    const { person } = joined
    expect((await outcomeOf(callerFor(person).write())).data).toBe(joined.organizationId)
    await auth.db.updateTable('user').set({ name: 'Before' }).where('id', '=', person.userId).execute()
    const { rejection } = await outcomeOf(callerFor(person, () => lose(joined)).write())
    expect(rejection?.auth?.reason).toBe('ROLE_REQUIRED')
    const row = auth.db.selectFrom('user').select('name').where('id', '=', person.userId)
    expect(await row.executeTakeFirst()).toEqual({ name: 'Before' })
  })
})

test('a stream continues with another of the roles, and after unrelated changes', async () => {
  const { person, target, request } = await join('admin')
  const stream = await open(callerFor(person).clock())
  await api.setMemberRole({ ...target, role: 'owner' })
  await api.updateUser({ name: 'Renamed', request })
  auth.database.revocations.publish({ sessionId: null, userId: person.userId })
  ticker.emit('tick', 'still here')
  await soon(() => expect(stream.values).toEqual(['ready', 'still here']))
  stream.unsubscribe()
})
