import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { GENERATORS } from '../../../core/test/hostile/generators.ts'
import { createRandom } from '../../../core/test/hostile/random.ts'
import { sealControl } from '../../../core/test/hostile/seal-control.ts'
import { SEED } from '../../../core/test/hostile/seed.ts'
import { createTarget } from '../../../core/test/hostile/target.ts'
import { firstMessage } from '../../../core/test/support/first-message.ts'
import { createRequest, send } from './http-request.ts'
import { CALLS, callOverSocket, createSocketCall } from './socket-call.ts'

const REQUESTS = Number(process.env.HOSTILE_REQUESTS ?? 500)
const TIMEOUT_MS = 20_000 + REQUESTS * 10
const TOGETHER = 16
/** One in this many requests goes over WebSocket. */
const SOCKET_EVERY = 4

const ALLOWED = [
  ...['HTTP 401', 'HTTP 400', 'HTTP 413', 'HTTP 431'],
  ...[
    'socket UNAUTHORIZED',
    'socket BAD_REQUEST',
    'socket closed',
    'socket rejected 400',
    'socket rejected 431',
  ],
  // tRPC's error for an unreadable message; its status is 400.
  'socket PARSE_ERROR',
]

const random = createRandom(`${SEED} requests`)
// The same seed as the server, so the same keys and sessions.
const target = await createTarget(SEED)
const server = fork(fileURLToPath(new URL('hostile-server.ts', import.meta.url)), [SEED], { execArgv: [] })
let ports: Record<'node' | 'fetch' | 'ws', number>

beforeAll(async () => {
  ports = await firstMessage(server)
})
afterAll(async () => {
  server.kill()
  await target.auth.close()
})

test(
  'the server rejects every hostile request and survives',
  async () => {
    const outcomes = new Map<string, number>()
    const findings: object[] = []

    async function attack(request: number): Promise<void> {
      const { name, generate } = random.pick(GENERATORS)
      const token = generate(random, target)
      for (const outcome of await outcomesOf(request, token)) {
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        if (!ALLOWED.includes(outcome)) findings.push({ generator: name, request, outcome, token })
      }
    }

    for (let request = 0; request < REQUESTS && findings.length === 0; request += TOGETHER) {
      await Promise.all(Array.from({ length: TOGETHER }, (_, offset) => attack(request + offset)))
    }
    console.log(
      `${REQUESTS} hostile requests, HOSTILE_SEED=${SEED}`,
      Object.fromEntries([...outcomes].sort()),
    )
    expect(findings).toEqual([])
    expect(server.exitCode).toBeNull()
    server.send('state')
    expect(await nextMessage()).toEqual({ resolved: 0, isPolluted: false })
  },
  TIMEOUT_MS,
)

test.each([
  ['/', '['],
  ['/', 'a b'],
  ['/', ''],
  ['//', 'localhost'],
  ['http://[', 'localhost'],
])('rejects an upgrade to %j at the host %j, which tRPC would fail to parse', async (path, host) => {
  const head = [
    `GET ${path} HTTP/1.1`,
    `host: ${host}`,
    'connection: upgrade',
    'upgrade: websocket',
    'origin: http://localhost:3000',
    'sec-websocket-version: 13',
    'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
  ]
  expect(await send(ports.ws, Buffer.from(`${head.join('\r\n')}\r\n\r\n`))).toEqual([400])
  expect(server.exitCode).toBeNull()
})

test('then accepts a valid token everywhere', async () => {
  const token = sealControl(random.pick(target.live), random, target)
  const headers = { cookie: `service.jwt=${token}` }
  for (const url of [`${ports.node}/read`, `${ports.fetch}/trpc/read`]) {
    expect((await fetch(`http://127.0.0.1:${url}`, { headers })).status).toBe(200)
  }
  for (const call of CALLS) {
    for (const isInCookie of [true, false]) {
      const message = JSON.stringify(call)
      expect(await callOverSocket(ports.ws, { token, message, isInCookie })).toBe('answered')
    }
  }
  server.send('state')
  expect((await nextMessage<{ resolved: number }>()).resolved).toBeGreaterThan(0)
})

async function outcomesOf(request: number, token: string): Promise<string[]> {
  if (request % SOCKET_EVERY === 0)
    return [`socket ${await callOverSocket(ports.ws, createSocketCall(token, random))}`]
  const { adapter, bytes } = createRequest(token, random)
  const statuses = await send(ports[adapter], bytes)
  return statuses.length === 0 ? ['HTTP without an answer'] : statuses.map((status) => `HTTP ${status}`)
}

async function nextMessage<Message>(): Promise<Message> {
  const [message] = await once(server, 'message')
  return message
}
