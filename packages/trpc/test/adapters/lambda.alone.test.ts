import { TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { readAudit } from '../../../core/test/support/read-audit.ts'
import { FOREIGN, ORIGIN } from '../support/visitor.ts'
import { handler } from './lambda.ts'
import { testAuth } from './test-auth.ts'

type Event = Parameters<typeof handler>[0]
type Result = Awaited<ReturnType<typeof handler>>
type Sent = Readonly<Record<string, string>>

interface Call {
  readonly method: string
  readonly path: string
  readonly headers: Sent
  readonly body?: string
}

const ADDRESS = '203.0.113.9'
const DOMAIN = 'id.execute-api.us-east-1.amazonaws.com'

/** Events have these members of the AWS documentation that adapters read. */
const SOURCES: readonly { source: string; toEvent: (call: Call) => unknown }[] = [
  { source: 'an HTTP API (2.0)', toEvent: (call) => version2(call, withoutCookie(call.headers)) },
  { source: 'a Function URL', toEvent: (call) => version2(call, call.headers) },
  { source: 'a REST API (1.0)', toEvent: version1 },
  {
    source: 'a load balancer with multi-value headers',
    toEvent: ({ method: httpMethod, path, headers, body = '' }) => ({
      requestContext: { elb: { targetGroupArn: 'arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/a/1' } },
      ...{ httpMethod, path, body, isBase64Encoded: false },
      multiValueHeaders: inLists({ ...headers, 'x-forwarded-for': `192.0.2.1, ${ADDRESS}` }),
      multiValueQueryStringParameters: {},
    }),
  },
]

function version2({ method, path, headers: { cookie }, body }: Call, headers: Sent) {
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString: '',
    ...(cookie !== undefined && { cookies: cookie.split('; ') }),
    headers: { ...headers, 'x-forwarded-for': ADDRESS },
    requestContext: {
      domainName: DOMAIN,
      http: { method, path, protocol: 'HTTP/1.1', sourceIp: ADDRESS, userAgent: 'agent' },
      stage: '$default',
    },
    ...{ body, isBase64Encoded: false },
  }
}

/** Keeps the case of names, which HTTP/1.1 clients capitalize. */
function version1({ method: httpMethod, path, headers: sent, body }: Call) {
  const headers = Object.fromEntries(
    Object.entries(sent).map(([name, value]) => [
      name.replace(/\b[a-z]/g, (first) => first.toUpperCase()),
      value,
    ]),
  )
  return {
    ...{ version: '1.0', resource: '/{proxy+}', path, httpMethod, headers, isBase64Encoded: false },
    body: body ?? null,
    multiValueHeaders: inLists(headers),
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    requestContext: {
      domainName: DOMAIN,
      identity: { sourceIp: ADDRESS, userAgent: 'agent' },
      stage: 'prod',
    },
  }
}

function withoutCookie({ cookie: _, ...headers }: Sent): Sent {
  return headers
}

const inLists = (headers: Sent) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))

/** Returns the value of each `Set-Cookie` header that AWS would send. */
function cookiesOf({ cookies, multiValueHeaders }: Result & { cookies?: string[] }): readonly string[] {
  return cookies ?? multiValueHeaders?.['set-cookie'] ?? []
}

afterAll(() => testAuth.close())

describe.each(SOURCES)('AWS Lambda behind $source', ({ toEvent }) => {
  const send = (path: string, headers: Sent, body?: unknown) => {
    const method = body === undefined ? 'GET' : 'POST'
    const all = { host: DOMAIN, 'content-type': 'application/json', ...headers }
    const text = body === undefined ? {} : { body: JSON.stringify(body) }
    return handler(toEvent({ method, path, headers: all, ...text }) as Event)
  }

  test('a sign-up sets all cookies, which calls accept, and records the address', async () => {
    const email = `${crypto.randomUUID()}@example.com`
    const body = { name: 'Ada', email, password: TEST_PASSWORD }
    const signUp = await send('/api/auth/sign-up/email', { origin: ORIGIN }, body)
    const { userId } = JSON.parse(signUp.body)
    const cookie = cookiesOf(signUp)
      .map((setCookie) => setCookie.split(';', 1)[0])
      .join('; ')
    const me = await send('/trpc/me', { cookie })
    expect([me.statusCode, JSON.parse(me.body)]).toEqual([200, { result: { data: userId } }])
    expect(await readAudit(testAuth, userId)).toContainEqual(
      expect.objectContaining({ type: 'session.created', address: ADDRESS }),
    )
    const signOut = await send('/api/auth/sign-out', { cookie, origin: ORIGIN }, {})
    expect(cookiesOf(signOut).filter((setCookie) => setCookie.includes('Max-Age=0'))).toHaveLength(2)
    expect((await send('/trpc/me', { cookie })).statusCode).toBe(401)
  })

  test('rejects a mutation from another site', async () => {
    const { cookie } = await testAuth.signIn()
    const say = await send('/trpc/say', { cookie, ...FOREIGN }, 'hello')
    expect([say.statusCode, say.body]).toEqual([403, expect.stringContaining('ORIGIN_REJECTED')])
    expect((await send('/trpc/say', { cookie, origin: ORIGIN }, 'hello')).statusCode).toBe(200)
  })
})
