import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AuthConfig, defineAuthConfig, staticJwks } from '@sallyport/core'
import { defineAuth, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { type AuthContext, createAuthContext } from '@sallyport/trpc'
import {
  createAuthedAction,
  createAuthRuntime,
  functionsOf,
  httpRunner,
  type Runner,
} from '@sallyport/trpc/action'
import { initTRPC } from '@trpc/server'
import { Agent, fetch as fetchOver } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as z from 'zod'
import { createHostileKey } from '../../../core/test/hostile/hostile-key.ts'
import { createRandom, type Random } from '../../../core/test/hostile/random.ts'
import type { Named } from '../../../core/test/support/insert-rows.ts'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import type { BackendRouter } from '../fixtures/backend-node.ts'
import { outcomeOf, type Rejection } from '../support/outcome.ts'
import { ORIGIN } from '../support/visitor.ts'
import { insertActor } from './actors.ts'
import type { BackendTables } from './backend-settings.ts'
import { type Backend, prepareBackends } from './start-backends.ts'

/** `pnpm test:service-calls` kills 100 times. */
const KILLS = Number(process.env.KILLS ?? 2)
const IS_FULL = KILLS >= 100
const SEED = process.env.KILLS_SEED ?? 'sallyport'
const ACTIONS_A_KILL = 24
/**
 * The range of the actions' start times, a function's time before and after its write, and the latest kill.
 */
const [SPREAD_MS, BEFORE_MS, AFTER_MS, LATEST_KILL_MS] = [60, 20, 120, 150]

const random = createRandom(`${SEED} people`)
const directory = temporaryDirectory()
const databaseUrl = `file:${join(directory, 'app.db')}`
const socketPath = join(directory, 'internal.sock')
const userKey = createHostileKey('Ed25519', random)
const userJwks = { keys: [userKey.publicJwk] }
const config: AuthConfig = defineAuthConfig({
  baseUrl: ORIGIN,
  jwks: staticJwks(userJwks),
  session: { lookupTimeoutMs: 20_000 },
})
const dispatcher = new Agent({ connect: { socketPath } })
afterAll(() => dispatcher.destroy())

/** The requests of each action, except Step 2's lookups. */
const attempts = new Map<string, { readonly token: string; readonly idempotencyKey: string | null }[]>()
/** Runs after each request. */
let onAttempt = () => {}

const internal = functionsOf<BackendRouter>()
const t = initTRPC.context<AuthContext & { db?: undefined; runner: Runner }>().create()
// A process without a database and without users' signing keys.
const { getAuth } = createAuthRuntime(() => defineAuth({ config, signingKeys: undefined, plugins: [] }))
const action = createAuthedAction(t.procedure, getAuth, ({ runner }) => runner).input(
  z.object({ id: z.string(), before: z.number(), after: z.number(), idempotencyKey: z.string().optional() }),
)
const createCaller = t.createCallerFactory(
  t.router({
    read: action.query(({ ctx, input }) => ctx.runQuery(internal.row.read, input)),
    write: action.mutation(({ ctx, input: { idempotencyKey, ...input } }) =>
      ctx.runMutation(internal.row.write, input, { idempotencyKey }),
    ),
  }),
)

let runner: Runner
let backends: ReturnType<typeof prepareBackends>
let backend: Backend
let people: Named[]
let database: Awaited<ReturnType<typeof openSqlite<BackendTables>>>

beforeAll(async () => {
  database = await openSqlite<BackendTables>(databaseUrl)
  await database.db.schema.createTable('execution').addColumn('id', 'text').execute()
  const later = new Date(Date.now() + 86_400_000)
  people = await Promise.all(
    Array.from({ length: 8 }, () => insertActor(database.db, random, { expiresAt: later, banned: false })),
  )
  const signingKeys = { keys: [await createSigningKey()] }
  const serviceJwks = parseSigningKeys(signingKeys).publicJwks
  backends = prepareBackends({ databaseUrl, socketPath, baseUrl: ORIGIN, userJwks, serviceJwks }, afterAll)
  backend = await backends.start()
  runner = httpRunner({
    url: 'http://localhost/internal',
    service: { name: 'edge', signingKeys },
    config,
    fetch(url, init) {
      noteAttempt(init)
      return fetchOver(url, { ...init, dispatcher })
    },
  })
})
afterAll(() => database?.close())

test(`of actions on a backend that is killed ${KILLS} times, each gets its result or 503, and no mutation runs twice`, {
  timeout: 120_000 + KILLS * 5_000,
}, async () => {
  const source = createRandom(`${SEED} actions`)
  const figures = {
    kills: 0,
    actions: 0,
    results: 0,
    unavailable: 0,
    retriedReads: 0,
    retriedWrites: 0,
    executions: 0,
    executedUnheard: 0,
    repeatedWithKey: 0,
    answeredFromStore: 0,
    stillUnknown: 0,
  }

  const wasDuringWork = () =>
    figures.unavailable > 0 &&
    figures.retriedReads + figures.retriedWrites > 0 &&
    figures.answeredFromStore > 0
  // On a busy machine, more kills may be needed until one happens during work.
  for (let kill = 0; kill < KILLS || !wasDuringWork(); kill++) {
    const actions = Array.from({ length: ACTIONS_A_KILL }, () => planAction(source))
    const running = actions.map(async (planned) => {
      await sleep(planned.startsAfter)
      return run(planned)
    })
    await sent(1 + source.below(ACTIONS_A_KILL / 2))
    await sleep(source.below(LATEST_KILL_MS))
    const gone = backend.kill()
    figures.kills++
    ;[backend] = await Promise.all([backends.start(), gone])
    const outcomes = await Promise.all(running)

    const before = await executions()
    // Repeats the calls with a key once the backend is back. Finished ones don't run again.
    const repeated = await Promise.all(
      actions.map((planned) => (planned.kind === 'write with a key' ? run(planned) : null)),
    )
    const after = await executions()

    for (const [i, planned] of actions.entries()) {
      const { id, kind } = planned
      const where = { KILLS_SEED: SEED, kill, action: i, planned: JSON.stringify(planned) }
      const first = outcomes[i] ?? { rejection: null }
      const second = repeated[i] ?? null
      const counts = [before.get(id) ?? 0, after.get(id) ?? 0]
      const [firstCount = 0, secondCount = 0] = counts
      expectResultOr503(first, { planned, where })
      expectAttempts(planned, { where, times: second === null ? 1 : 2 })
      figures.actions++
      const retries = retriesOf(id, second === null ? 1 : 2)
      if (kind === 'read') figures.retriedReads += retries
      else figures.retriedWrites += retries
      figures.executions += secondCount
      if (first.rejection === null) figures.results++
      else figures.unavailable++
      if (kind === 'read') continue

      const isDone = first.rejection === null
      expect({ ...where, counts }).toEqual({
        ...where,
        counts: isDone ? [1, 1] : expect.toSatisfy(isAtMostOnce),
      })
      if (firstCount === 1 && !isDone) figures.executedUnheard++
      if (second === null) continue

      expectResultOr503(second, { planned, where })
      if (isDone) expect({ ...where, ...second }).toEqual({ ...where, ...first })
      if (second.rejection === null) expect({ ...where, secondCount }).toEqual({ ...where, secondCount: 1 })
      figures.repeatedWithKey++
      if (second.rejection !== null) figures.stillUnknown++
      else if (firstCount === 1) figures.answeredFromStore++
    }
  }

  console.log(`KILLS_SEED=${SEED}`, JSON.stringify(figures))
  const [{ rows = 0, ids = 0 } = {}] = await database.db
    .selectFrom('execution')
    .select(({ fn }) => [fn.countAll<number>().as('rows'), fn.count<number>('id').distinct().as('ids')])
    .execute()
  expect({ rows, ids }).toEqual({ rows: figures.executions, ids: figures.executions })
  expect(figures.results).toBeGreaterThan(KILLS)
  if (!IS_FULL) return
  expect(figures.retriedReads).toBeGreaterThan(0)
  expect(figures.retriedWrites).toBeGreaterThan(0)
  expect(figures.executedUnheard).toBeGreaterThan(0)
  expect(figures.stillUnknown).toBeGreaterThan(0)
})

/** Waits until this many calls have been sent. */
function sent(count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count
    onAttempt = () => {
      left--
      if (left === 0) resolve()
    }
  })
}

/** An action, with its function's time before and after the write. */
interface Planned {
  readonly id: string
  readonly kind: 'read' | 'write' | 'write with a key'
  readonly person: number
  readonly startsAfter: number
  readonly before: number
  readonly after: number
}

function planAction(source: Random): Planned {
  return {
    id: source.bytes(8).toString('hex'),
    kind: source.pick(['read', 'write', 'write with a key', 'write with a key'] as const),
    person: source.below(people.length),
    startsAfter: source.below(SPREAD_MS),
    before: source.below(BEFORE_MS),
    after: source.below(AFTER_MS),
  }
}

interface Outcome {
  readonly data?: unknown
  readonly rejection: Rejection | null
}

function run({ id, kind, person, before, after }: Planned): Promise<Outcome> {
  const { userId, sessionId } = people[person] ?? { userId: '', sessionId: '' }
  const iat = Math.floor(Date.now() / 1000)
  const times = { iat, exp: iat + 900, jti: id }
  const token = userKey.seal(
    { alg: userKey.alg, typ: 'at+jwt', kid: userKey.kid },
    { iss: ORIGIN, aud: ORIGIN, sub: userId, ...times, sessionId, userId, version: 1 },
  )
  const headers = { origin: ORIGIN, cookie: `service.jwt=${token}` }
  const caller = createCaller({ ...createAuthContext(config).headers(headers), runner })
  const input = { id, before, after }
  if (kind === 'read') return outcomeOf(caller.read(input))
  return outcomeOf(caller.write(kind === 'write' ? input : { ...input, idempotencyKey: `key of ${id}` }))
}

function expectResultOr503(
  { data, rejection }: Outcome,
  { planned: { id, person }, where }: { planned: Planned; where: object },
): void {
  if (rejection === null) {
    expect({ ...where, data }).toEqual({
      ...where,
      data: expect.objectContaining({ id, userId: people[person]?.userId }),
    })
    return
  }
  const { code, httpStatus, auth } = rejection
  expect({ ...where, code, httpStatus, reason: auth?.reason }).toEqual({
    ...where,
    code: 'SERVICE_UNAVAILABLE',
    httpStatus: 503,
    reason: 'SESSIONS_UNAVAILABLE',
  })
}

/**
 * Checks the attempts: at most two of a query or a mutation with a key, with different tokens. One of a
 * mutation without a key.
 */
function expectAttempts({ id, kind }: Planned, { where, times }: { where: object; times: number }): void {
  const all = attempts.get(id) ?? []
  const most = times * (kind === 'write' ? 1 : 2)
  expect({ ...where, isFew: all.length <= most }).toEqual({ ...where, isFew: true })
  const idempotencyKey = kind === 'write with a key' ? `key of ${id}` : null
  expect({ ...where, keys: all.map((attempt) => attempt.idempotencyKey) }).toEqual({
    ...where,
    keys: all.map(() => idempotencyKey),
  })
  expect({ ...where, tokens: new Set(all.map(({ token }) => token)).size }).toEqual({
    ...where,
    tokens: all.length,
  })
}

/** Records a request, as an eavesdropper could. */
function noteAttempt({ headers, body }: { headers: Record<string, string>; body: Uint8Array }): void {
  const { path, input } = JSON.parse(new TextDecoder().decode(body))
  if (!String(path).startsWith('row.')) return
  const [, payload = ''] = headers.authorization?.split('.') ?? []
  const { jti, idempotencyKey = null } = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const earlier = attempts.get(input.id) ?? []
  attempts.set(input.id, [...earlier, { token: jti, idempotencyKey }])
  onAttempt()
}

/** Counts each mutation's rows. */
async function executions(): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { id } of await database.db.selectFrom('execution').select('id').execute()) {
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return counts
}

const isAtMostOnce = (counts: unknown) => Array.isArray(counts) && counts.every((count) => count <= 1)

/** Returns the requests after each run's first attempt. A run without a response in Step 2 sends none. */
function retriesOf(id: string, runs: number): number {
  return Math.max(0, (attempts.get(id)?.length ?? 0) - runs)
}
