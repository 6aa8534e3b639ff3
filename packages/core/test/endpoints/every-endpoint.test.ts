import { join } from 'node:path'
import { type Auth, createAuth } from '@sallyport/core/auth'
import { columnsOf } from '@sallyport/core/internal/auth'
import { AUTH_PATH, CLIENT_HEADER, ENDPOINTS, type Route } from '@sallyport/core/internal/protocol'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { withOwnTables as withEmailCodes } from '../../src/plugins/email-code/tables.ts'
import { withOwnTables as withFlows } from '../../src/plugins/oauth/tables.ts'
import { withOwnTables } from '../../src/plugins/organization/tables.ts'
import { withOwnTables as withPasskeys } from '../../src/plugins/passkeys/tables.ts'
import type { SessionStore } from '../../src/session/session.ts'
import { dumpTables, expectUnchanged, rowsOf } from '../support/dump-tables.ts'
import {
  createScene,
  ENDPOINT_CASES,
  type EndpointCase,
  type Scene,
  type Situation,
} from '../support/endpoint-cases.ts'
import { everyPasswordOption, startEveryPlugin } from '../support/every-plugin.ts'
import { cookieChanges } from '../support/requests.ts'
import { serveInterrupted } from '../support/serve-interrupted.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const everyPlugin = await startEveryPlugin()

const options = { emailPassword: everyPasswordOption, plugins: everyPlugin }
// A link is created after the response, possibly after its test has ended.
const onFailure = () => {}
const auth = await createTestAuth({ ...options, onFailure })
const path = join(temporaryDirectory(), 'app.db')
const onFile = await createTestAuth({ ...options, databaseUrl: path, onFailure })
afterAll(() => Promise.all([auth.close(), onFile.close()]))

/** Rows left behind would be read again by every later comparison. */
async function clear({ db }: Pick<TestAuth, 'db'>): Promise<void> {
  await withOwnTables(db).deleteFrom('organization').execute()
  await db.deleteFrom('user').execute()
  await withEmailCodes(db).deleteFrom('emailCode').execute()
  await withPasskeys(db).deleteFrom('passkeyChallenge').execute()
  await withFlows(db).deleteFrom('oauthFlow').execute()
  await db.deleteFrom('sallyport.audit').execute()
  await db.deleteFrom('sallyport.rate_limit').execute()
}

/** Creates the same definition on a closed connection. With `sessions`, Step 2 still works. */
async function createDown(sessions?: SessionStore): Promise<Auth> {
  const gone = await openSqlite(path, { columns: columnsOf(onFile.definition) })
  const database = { ...gone, ...(sessions !== undefined && { sessions }) }
  const down = await createAuth(onFile.definition, database, { pruneEverySeconds: 0 })
  await gone.close()
  return down
}

type TestAuth = typeof auth

/** Receives the calls of users in the file. */
const DOWN: Partial<Record<Situation, Auth>> = {
  'database down': await createDown(),
  'database down once authorized': await createDown(onFile.database.sessions),
}

type Name = keyof typeof ENDPOINTS
const NAMES = Object.keys(ENDPOINTS) as Name[]

interface Call {
  readonly input?: Record<string, unknown>
  readonly cookie?: string
  readonly headers?: Record<string, string>
  /** Replaces the input. */
  readonly body?: string
  readonly query?: string
}

type RequestTo = Route & Pick<EndpointCase, 'browserCookie'>

function request({ method, path, browserCookie }: RequestTo, call: Call): Request {
  const { input = {}, headers } = call
  const cookies = [call.cookie, browserCookie].filter((cookie) => cookie !== undefined)
  const isGet = method === 'GET'
  const texts = Object.entries(input).map(([name, value]): [string, string] => [name, String(value)])
  const query = isGet ? (call.query ?? new URLSearchParams(texts).toString()) : ''
  return new Request(`http://localhost:3000${AUTH_PATH}${path}${query === '' ? '' : `?${query}`}`, {
    method,
    headers: {
      [CLIENT_HEADER]: '1',
      ...(!isGet && { 'content-type': 'application/json' }),
      ...(cookies.length > 0 && { cookie: cookies.join('; ') }),
      ...headers,
    },
    ...(!isGet && { body: call.body ?? JSON.stringify(input) }),
  })
}

/** Sets up a situation and returns the call to send. */
type Prepare = (scene: Scene, on: TestAuth, endpoint: EndpointCase & Route) => Promise<Call>

async function valid(
  scene: Scene,
  { input, caller }: EndpointCase,
): Promise<Required<Pick<Call, 'input' | 'cookie'>>> {
  return { input: await input(scene), cookie: scene[caller].cookie }
}

/** Returns a valid call, made after the state of its caller has changed. */
const after =
  (change: (on: TestAuth, caller: TestSession) => Promise<unknown>): Prepare =>
  async (scene, on, endpoint) => {
    await change(on, scene[endpoint.caller])
    return valid(scene, endpoint)
  }

const EXTRA = ['userId', 'role', 'banned']

const SITUATIONS: Record<Situation, Prepare> = {
  anonymous: async (scene, _on, { input }) => ({ input: await input(scene) }),
  user: async (scene, _on, { input }) => ({ input: await input(scene), cookie: scene.ada.cookie }),
  'other user': async (scene, _on, { aim }) => ({ cookie: scene.bob.cookie, ...(await aim(scene)) }),
  admin: async (scene, _on, { input }) => ({ input: await input(scene), cookie: scene.root.cookie }),
  'signed in long ago': after(({ db, clock, config }, { sessionId }) => {
    const lastAuthenticatedAt = new Date(clock.now().getTime() - config.freshForSeconds * 1000 - 1)
    return db.updateTable('session').set({ lastAuthenticatedAt }).where('id', '=', sessionId).execute()
  }),
  banned: after((on, caller) => on.ban(caller)),
  'signed out': after((on, caller) => on.revoke(caller)),
  'expired session': after((on, caller) => on.expireSession(caller)),
  'expired JWT': async (scene, on, endpoint) => {
    const { cookie } = await on.expireJwt(scene[endpoint.caller])
    return { ...(await valid(scene, endpoint)), cookie }
  },
  'session cookie alone': async (scene, _on, endpoint) => ({
    ...(await valid(scene, endpoint)),
    cookie: `service.session=${scene[endpoint.caller].sessionCookie}`,
  }),
  'cross-site': async (scene, _on, endpoint) => ({
    ...(await valid(scene, endpoint)),
    headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
  }),
  malformed: async (scene, _on, endpoint) => ({
    ...(await valid(scene, endpoint)),
    body: '{"name":',
    query: 'name=1&name=2',
  }),
  'extra fields': async (scene, _on, endpoint) => {
    const { input, cookie } = await valid(scene, endpoint)
    return { input: { userId: scene.bob.userId, role: 'admin', banned: true, ...input }, cookie }
  },
  'database down': (scene, _on, endpoint) => valid(scene, endpoint),
  'database down once authorized': (scene, _on, endpoint) => valid(scene, endpoint),
}

const ROWS = NAMES.flatMap((name) =>
  Object.entries(ENDPOINT_CASES[name].answers).map(([situation, answer]) => ({
    name,
    situation: situation as Situation,
    answer,
  })),
)

test('the table lists every endpoint, and the API has a method for each', () => {
  expect(Object.keys(ENDPOINT_CASES).sort()).toEqual([...NAMES].sort())
  // Browsers open the callback of a provider. It has no type.
  const others = ['createSession', 'oauth-callback:acme']
  expect(Object.keys(auth.api).sort()).toEqual([...NAMES, ...others].sort())
})

describe('every endpoint in every situation', () => {
  let on: TestAuth
  afterEach(() => clear(on))

  test.each(ROWS)('$name, $situation: $answer', async ({ name, situation, answer }) => {
    const endpoint = { ...ENDPOINTS[name], ...ENDPOINT_CASES[name] }
    const down = DOWN[situation]
    const { handler } = down ?? auth
    on = down === undefined ? auth : onFile
    const scene = await createScene(on)
    const call = await SITUATIONS[situation](scene, on, endpoint)
    const { revocations } = on.database
    const [before, revision] = [await dumpTables(on), revocations.revision]

    const response = await handler(request(endpoint, call))
    const text = await response.text()
    const body = JSON.parse(text)

    expect(`${response.status} ${body.code ?? ''}`.trim()).toBe(answer)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('vary')).toBe('Origin, Cookie')
    expect(text).not.toMatch(/sha256:|\$argon2/)
    const isOver = answer.startsWith('401 SESSION_') && name === 'token'
    if (answer === '200') {
      expect(cookieChanges(response)).toEqual(endpoint.cookies ?? { set: [], cleared: [] })
    } else {
      const cleared = isOver ? ['service.jwt', 'service.session'] : []
      expect(cookieChanges(response)).toEqual({ set: [], cleared })
      await expectUnchanged(on, before, { except: endpoint.usesUp ?? [] })
      expect(revocations.revision).toBe(revision)
    }
    if (answer.startsWith('503')) expect(response.headers.get('retry-after')).toBe('1')
    if (situation === 'other user') {
      expect(rowsOf(scene.ada.userId, await dumpTables(on))).toEqual(rowsOf(scene.ada.userId, before))
      expect(text).not.toContain(scene.ada.email)
    }
    if (situation === 'extra fields') {
      const { userId } = scene.bob
      if (answer === '200') expect(text).not.toContain(userId)
      else {
        const taken = Object.keys(await endpoint.input(scene))
        expect(body.fields).toEqual(EXTRA.filter((field) => !taken.includes(field)))
      }
    }
  })
})

describe('every endpoint as a method of auth.api', () => {
  afterEach(() => clear(auth))

  test.each(NAMES)('%s returns the same members, and headers if it sets cookies', async (name) => {
    const [scene, another] = [await createScene(auth), await createScene(auth)]
    const endpoint = { ...ENDPOINTS[name], ...ENDPOINT_CASES[name] }
    const isForVisitors = endpoint.answers.user === '409 ALREADY_SIGNED_IN'
    const prepare = isForVisitors ? SITUATIONS.anonymous : async (of: Scene) => valid(of, endpoint)
    const overHttp = await auth.handler(request(endpoint, await prepare(scene, auth, endpoint)))
    const { input, cookie } = await prepare(another, auth, endpoint)
    const methods: Record<string, unknown> = { ...auth.api }
    const method = methods[name]
    if (typeof method !== 'function') throw new TypeError(`No method ${name}`)
    const { headers, ...body } = await method({
      ...input,
      request: request(endpoint, { ...(cookie !== undefined && { cookie }) }),
    })
    expect(Object.keys(body)).toEqual(Object.keys(await overHttp.json()))
    if (endpoint.cookies === undefined) expect(headers).toBeUndefined()
    else expect(cookieChanges(new Response(null, { headers }))).toEqual(cookieChanges(overHttp))
  })
})
const NOT_FOR_ANYONE = NAMES.filter((name) => ENDPOINT_CASES[name].answers.anonymous === '401 TOKEN_MISSING')

describe("a caller without permission learns nothing about an endpoint's input", () => {
  afterEach(() => clear(auth))

  test.each(NOT_FOR_ANYONE)('%s', async (name) => {
    const { bob } = await createScene(auth)
    const { caller, answers } = ENDPOINT_CASES[name]
    const strangers = caller === 'root' ? [undefined, bob.cookie] : [undefined]
    for (const cookie of strangers) {
      for (const input of [{}, { userId: 1, role: [], sessionId: '', unknown: true }]) {
        const call = { input, ...(cookie !== undefined && { cookie }) }
        const response = await auth.handler(request(ENDPOINTS[name], call))
        const { code, fields } = await response.json()
        const answer = cookie === undefined ? answers.anonymous : answers.user
        expect({ answer: `${response.status} ${code}`, fields }).toEqual({ answer, fields: undefined })
      }
    }
  })
})

describe('a caller who is no longer authorized changes nothing', async () => {
  afterEach(() => clear(auth))

  const { handler, interrupt } = await serveInterrupted(auth)
  const INTERRUPTIONS: Record<
    string,
    { answer: string; interruption: (caller: TestSession) => Promise<unknown> }
  > = {
    'signed out': { answer: '401 SESSION_NOT_FOUND', interruption: auth.revoke },
    banned: { answer: '403 ACCOUNT_BANNED', interruption: auth.ban },
    'expired session': { answer: '401 SESSION_EXPIRED', interruption: auth.expireSession },
    deleted: {
      answer: '401 SESSION_NOT_FOUND',
      async interruption({ userId }) {
        await withOwnTables(auth.db).deleteFrom('member').where('userId', '=', userId).execute()
        await auth.db.deleteFrom('user').where('id', '=', userId).execute()
      },
    },
    demoted: {
      answer: '403 ROLE_REQUIRED',
      interruption: ({ userId }) =>
        auth.db.updateTable('user').set({ role: 'user' }).where('id', '=', userId).execute(),
    },
    'no longer fresh': {
      answer: '403 SESSION_NOT_FRESH',
      interruption: ({ sessionId }) =>
        auth.db
          .updateTable('session')
          .set({ lastAuthenticatedAt: new Date(0) })
          .where('id', '=', sessionId)
          .execute(),
    },
  }
  const isConcerned = (name: Name, what: string) => {
    if (what === 'demoted') return ENDPOINT_CASES[name].caller === 'root'
    if (what === 'no longer fresh') return ENDPOINT_CASES[name].answers['signed in long ago'] !== '200'
    return true
  }

  test.each(
    NOT_FOR_ANYONE.filter((name) => ENDPOINTS[name].method === 'POST').flatMap((name) =>
      Object.entries(INTERRUPTIONS)
        .filter(([what]) => isConcerned(name, what))
        .map(([what, interruption]) => ({ name, what, ...interruption })),
    ),
  )('$name, $what meanwhile: $answer', async ({ name, answer, interruption }) => {
    const scene = await createScene(auth)
    const endpoint = { ...ENDPOINTS[name], ...ENDPOINT_CASES[name] }
    const call = await valid(scene, endpoint)
    let before = await dumpTables(auth)
    interrupt(async () => {
      await interruption(scene[endpoint.caller])
      before = await dumpTables(auth)
    })
    const response = await handler(request(endpoint, call))
    expect(`${response.status} ${(await response.json()).code}`).toBe(answer)
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    await expectUnchanged(auth, before)
  })
})
