import { afterAll, expect, test } from 'vitest'
import { createRandom } from '../../../core/test/hostile/random.ts'
import { openPathsApp } from '../paths/open-app.ts'
import { insertVisitor } from '../paths/scene.ts'
import { createKeys, mint } from '../paths/tokens.ts'
import { createWays } from '../paths/ways.ts'
import { ORIGIN } from '../support/visitor.ts'
import { bodyOf } from './call.ts'

const random = createRandom('sallyport token kinds')
const now = Date.UTC(2026, 10, 21, 10)

const keys = await createKeys(random)
const app = await openPathsApp({
  jwks: keys.live,
  signingKeys: keys.signing,
  now: () => new Date(now),
  random,
})
const user = await insertVisitor(app, random)
const ways = createWays(app)
const iat = now / 1000
const facts = { iat, exp: iat + 900, names: 'own session', flaw: null } as const
const userToken = mint(facts, user, { keys, origin: ORIGIN, random })
afterAll(() => app.close())

const FUNCTIONS = [
  { type: 'query', path: 'sallyport.findSession' },
  { type: 'query', path: 'sallyport.findSessions' },
  { type: 'mutation', path: 'sallyport.consumeLimit' },
  { type: 'query', path: 'sallyport.queryEndpoint' },
] as const

test.each(FUNCTIONS)("a user's JWT calls no internal function: $type $path", async (call) => {
  for (const { ask, name } of ways) {
    const { status } = await ask({ authorization: `Bearer ${userToken}` }, 'user')
    expect({ name, status }).toEqual({ name, status: 200 })
  }
  const { sessionId, userId } = user
  const request = new Request('http://localhost/internal', {
    method: 'POST',
    headers: { authorization: `Bearer ${userToken}` },
    body: new Uint8Array(bodyOf({ ...call, input: { sessionId, userId } })),
  })
  const response = await app.internal(request)
  const { error } = await response.json()
  expect({ status: response.status, rejection: error.data.rejection, auth: error.data.auth }).toEqual({
    status: 401,
    rejection: 'TOKEN_INVALID',
    auth: null,
  })
})

test('a service JWT authenticates on no public path, as a cookie or a bearer token, alone or with a session', async () => {
  app.serviceTokens.length = 0
  await sendServiceCalls()
  const tokens = app.serviceTokens.splice(0)
  expect(new Set(tokens).size).toBe(SERVICE_CALLS)
  for (const token of tokens) {
    const jwt = `service.jwt=${token}`
    const carried = [
      { authorization: `Bearer ${token}` },
      { origin: ORIGIN, cookie: jwt },
      { origin: ORIGIN, cookie: `${jwt}; service.session=${user.sessionId}.secret` },
    ]
    for (const headers of carried) {
      for (const { name, ask } of ways) {
        const { status, reason, answer } = await ask(headers, 'user')
        const rejected = { status: 401, reason: 'TOKEN_INVALID', answer: null }
        expect({ name, status, reason, answer }).toEqual({ name, ...rejected })
      }
    }
  }
})

const SERVICE_CALLS = 4

/** Sends a query and a mutation, anonymously and on behalf of the user. */
async function sendServiceCalls(): Promise<void> {
  const { userId, sessionId } = user
  const proof = { version: 1, issuer: ORIGIN, keyId: keys.own.kid, expiresAt: new Date(now + 60_000) }
  const actor = { userId, sessionId, ...proof }
  for (const acting of [null, actor]) {
    const input = { userId, sessionId }
    const found = await app.runner.run({ type: 'query', path: 'sallyport.findSession', input, actor: acting })
    expect(found).toMatchObject({ id: sessionId })
    const attempt = { key: `procedure:${userId}`, limit: { points: 9, duration: 60 } }
    const path = 'sallyport.consumeLimit'
    expect(await app.runner.run({ type: 'mutation', path, input: attempt, actor: acting })).toBeNull()
  }
}
