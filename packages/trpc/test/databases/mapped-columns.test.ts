import { once } from 'node:events'
import {
  type AuthDatabase,
  ConfigurationError,
  defineAuthConfig,
  sessionCookieProof,
  withAuthStore,
} from '@sallyport/core'
import { type AddedColumns, issueJwt } from '@sallyport/core/auth'
import type { StoreMapping } from '@sallyport/core/postgres'
import { bindSession, createAuthContext, type DatabaseContext } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { createIssuer } from '../../../core/test/support/create-issuer.ts'
import { databaseKinds } from '../../../core/test/support/database-kinds.ts'
import { PATIENT_SESSION } from '../../../core/test/support/postgres.ts'
import { outcomeOf } from '../support/outcome.ts'
import { browser } from '../support/visitor.ts'

const mapping = {
  session: {
    table: 'user_sessions',
    columns: {
      userId: 'user_id',
      expiresAt: 'expires_at',
      lastAuthenticatedAt: null,
      tenantId: 'tenant_id',
      seenAt: 'seen_at',
    },
    nullExpiresAt: 'endless',
  },
  user: { table: 'users', columns: { role: null, banned: null, banExpires: null, isAdult: 'is_adult' } },
} as const satisfies StoreMapping

const columns = {
  session: { tenantId: { type: 'text' }, seenAt: { type: 'timestamp' } },
  user: { isAdult: { type: 'flag' }, credits: { type: 'number', default: 0 } },
} as const satisfies AddedColumns

const bound = bindSession<typeof columns>()
const t = initTRPC.context<DatabaseContext>().create()
const router = t.router({
  me: t.procedure.use(bound.sessionMiddleware).query(({ ctx: { session, user } }) => {
    expectTypeOf(session.tenantId).toEqualTypeOf<string | null>()
    expectTypeOf(session.seenAt).toEqualTypeOf<string | null>()
    expectTypeOf(session.user.credits).toEqualTypeOf<number>()
    expectTypeOf(user.isAdult).toEqualTypeOf<boolean | null>()
    expectTypeOf(user.credits).toEqualTypeOf<number>()
    const { tenantId, seenAt, expiresAt } = session
    return { tenantId, seenAt, expiresAt, isAdult: user.isAdult, credits: user.credits }
  }),
  visitor: t.procedure.use(bound.optionalSessionMiddleware).query(({ ctx: { session, user } }) => {
    expectTypeOf(session?.tenantId).toEqualTypeOf<string | null | undefined>()
    return user?.credits ?? null
  }),
  pay: t.procedure.use(bound.sensitiveSessionMiddleware).mutation(({ ctx: { user } }) => user.credits),
  clock: t.procedure.use(bound.sessionMiddleware).subscription(async function* ({ ctx, signal }) {
    yield ctx.session.tenantId
    await once(AbortSignal.any([ctx.auth.signal, ...(signal ? [signal] : [])]), 'abort')
  }),
})

const { config, key } = await createIssuer({ session: PATIENT_SESSION })

describe.each(await databaseKinds())(
  'a mapped store on $name, with columns and a session without an end',
  (kind) => {
    const date = kind.name === 'SQLite' ? 'text' : 'timestamptz'
    const seenAt = '2026-01-02T03:04:05.000Z'

    async function createDatabase() {
      const database = await kind.create()
      await database.run(`
      create table users (id text primary key, name text, email text, is_adult boolean, credits integer);
      create table user_sessions (id text primary key, user_id text, expires_at ${date}, tenant_id text, seen_at ${date});
      insert into users values ('u', 'Ada', 'ada@example.com', true, 7);
      insert into user_sessions values ('s', 'u', null, 'acme', '${seenAt}')`)
      return database
    }

    async function openApp() {
      const database = await createDatabase()
      const store = await database.openStore(mapping, { columns })
      const db: AuthDatabase = withAuthStore({}, store)
      const found = await store.sessions.findSession({ sessionId: 's', userId: 'u' })
      if (found === null) throw new TypeError('The session was expected')
      // As the token route of the app does.
      const { id, userId, expiresAt } = found
      const { token } = await issueJwt({ id, userId, expiresAt }, { key, config })
      const { headers } = browser({ cookie: `${config.cookies.jwt}=${token}` })
      const closing = new AbortController()
      onTestFinished(() => closing.abort())
      const context = { ...createAuthContext(config).headers(headers), db }
      return { database, store, caller: router.createCaller(context, { signal: closing.signal }) }
    }

    test('ctx.session and ctx.user have the columns in every guard', async () => {
      const { caller } = await openApp()
      expect(await caller.me()).toEqual({
        tenantId: 'acme',
        seenAt,
        expiresAt: new Date('9999-12-31T23:59:59.999Z'),
        isAdult: true,
        credits: 7,
      })
      expect(await caller.visitor()).toBe(7)
      expect(await caller.pay()).toBe(7)
    })

    test('a stream stays open until the session is revoked', async () => {
      const { caller, store } = await openApp()
      expect(await store.listSessions('u')).toMatchObject([{ id: 's', tenantId: 'acme' }])
      const values = (await caller.clock())[Symbol.asyncIterator]()
      expect(await values.next()).toEqual({ done: false, value: 'acme' })
      const ended = outcomeOf(values.next())
      const first = await Promise.race([ended, caller.me().then(() => 'open')])
      expect(first).toBe('open')
      expect(await store.revokeSessions('u', { sessionId: 's' })).toBe(1)
      expect((await ended).rejection).toMatchObject({ auth: { reason: 'SESSION_NOT_FOUND' } })
    })

    const [own, other] = [config.issuer, 'https://id.example.com']
    const { jwks } = config.issuers[0]
    const claims = { userId: 'sub', sessionId: 'sid' }
    const trusting = defineAuthConfig({
      baseUrl: config.baseUrl,
      jwks,
      trustedIssuers: [{ issuer: other, audience: own, typ: null, jwks, claims }],
    })
    const findSession = async () => null
    const proof = sessionCookieProof({ cookie: 'sid', secret: null, findSession })
    const withCookie = defineAuthConfig({ baseUrl: config.baseUrl, ...proof })

    test.each([
      { step1: 'own JWTs', issuer: other, config, accepts: own },
      {
        step1: 'JWTs of a trusted issuer',
        issuer: `${other}/`,
        config: trusting,
        accepts: `${own}, ${other}`,
      },
      { step1: 'a session cookie', issuer: other, config: withCookie, accepts: own },
    ])('with an issuer that Step 1 never returns for $step1, is an error at the start', async (wrong) => {
      const { issuer, accepts } = wrong
      const store = await (await createDatabase()).openStore({ ...mapping, issuer }, { columns })
      const create = () => createAuthContext(wrong.config, { db: withAuthStore({}, store) })
      expect(create).toThrow(ConfigurationError)
      expect(create).toThrow(`mapping.issuer is ${issuer}, but Step 1 only accepts ${accepts}.`)
    })

    test.each([
      { step1: 'own JWTs', issuer: own, config },
      { step1: 'JWTs of a trusted issuer', issuer: other, config: trusting },
      { step1: 'a session cookie', issuer: own, config: withCookie },
    ])('with the issuer of $step1 starts', async ({ issuer, config }) => {
      const store = await (await createDatabase()).openStore({ ...mapping, issuer }, { columns })
      createAuthContext(config, { db: withAuthStore({}, store) })
    })
  },
)
