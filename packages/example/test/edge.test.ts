import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, fetch as fetchOver } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../core/test/support/free-port.ts'
import { signIn } from './sign-in.ts'
import { type Example, spawnExample, startExample, untilSaid } from './start-example.ts'

/** The outside service: the requests it got, and those that it never answers. */
const orders: { title: string; locale: string }[] = []
const pending = new Map<string, ServerResponse>()
const service = createServer(async (request, response) => {
  const chunks = await request.toArray()
  const order = JSON.parse(Buffer.concat(chunks).toString())
  orders.push(order)
  if (order.title.startsWith('slow')) pending.set(order.title, response)
  else if (order.title === 'broken')
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end('{"percent":10}\n{"te')
  else response.end(`Report: ${order.title}`)
})

const folder = mkdtempSync(join(tmpdir(), 'sallyport-'))
let variables: Record<string, string>
let backend: Example
let edge: Example
const startBackend = () => startExample(variables, { folder })

beforeAll(async () => {
  service.listen(0)
  await once(service, 'listening')
  const address = service.address()
  const port = typeof address === 'object' ? address?.port : 0
  variables = { PORT: String(await freePort()), REPORT_SERVICE_URL: `http://localhost:${port}` }
  edge = await startExample(
    { ...variables, KEY_FILE: join(folder, 'none.json') },
    { entry: 'edge.ts', folder },
  )
  await untilSaid(edge, 'report.list')
  backend = await startBackend()
})
afterAll(async () => {
  for (const { process, exit } of [backend, edge]) {
    process.kill('SIGKILL')
    await exit
  }
  service.closeAllConnections()
  service.close()
  rmSync(folder, { recursive: true })
})

interface Answer {
  readonly status: number
  readonly data?: unknown
  readonly reason?: string
  readonly code?: string
  readonly replay?: boolean
}

async function toAnswer(response: Response): Promise<Answer> {
  const { result, error } = await response.json()
  if (error === undefined) return { status: response.status, data: result.data }
  return { status: response.status, code: error.data.code, ...error.data.auth }
}

const list = async ({ url }: Example, cookie: string) =>
  toAnswer(await fetch(`${url}/trpc/report.list`, { headers: { cookie } }))

async function generate({ url }: Example, cookie: string, title: string, id: string = crypto.randomUUID()) {
  const headers = { cookie, 'content-type': 'application/json', 'x-sallyport': '1' }
  const body = JSON.stringify({ id, title })
  return toAnswer(await fetch(`${url}/trpc/report.generate`, { method: 'POST', headers, body }))
}

const post = (path: string, cookie: string, body: object) =>
  fetch(`${backend.url}/api/auth${path}`, {
    method: 'POST',
    headers: { cookie, 'content-type': 'application/json', 'x-sallyport': '1' },
    body: JSON.stringify(body),
  })

async function revoke(cookie: string): Promise<void> {
  expect((await post('/sign-out', cookie, {})).status).toBe(200)
}

describe('the edge', () => {
  test('prints at its start that the backend is missing, and how to start it', () => {
    expect(edge.output()).toContain("The backend doesn't respond")
    expect(edge.output()).toContain(
      `  PORT=${variables.PORT} BASE_URL=http://localhost:${variables.PORT} npx -y pnpm start\n`,
    )
  })

  test('has no private keys of users', () => {
    expect(existsSync(join(folder, 'none.json'))).toBe(false)
  })

  test('calls the backend through a socket of its user, with a service key', () => {
    expect(statSync(join(folder, 'internal.sock')).mode & 0o777).toBe(0o600)
    expect(statSync(join(folder, 'keys/service-keys.json')).mode & 0o777).toBe(0o600)
  })

  test('runs the same action as the backend, with the same rows', async () => {
    const cookie = await signIn(backend.url)
    await post('/update-user', cookie, { locale: 'de' })
    const here = await generate(backend, cookie, 'here')
    const there = await generate(edge, cookie, 'there')
    await post('/update-user', cookie, { locale: 'en' })
    expect(here).toMatchObject({ status: 200, data: { title: 'here', text: 'Report: here' } })
    expect(there).toMatchObject({ status: 200, data: { title: 'there', text: 'Report: there' } })
    expect(orders.slice(-2)).toEqual([
      { title: 'here', locale: 'de' },
      { title: 'there', locale: 'de' },
    ])
    const rows = { status: 200, data: [here.data, there.data] }
    expect(await list(backend, cookie)).toEqual(rows)
    expect(await list(edge, cookie)).toEqual(rows)
  })

  test('saves a report once, even if both processes are asked repeatedly', async () => {
    const cookie = await signIn(backend.url)
    const id = crypto.randomUUID()
    const answers = await Promise.all([edge, backend, edge].map((at) => generate(at, cookie, 'once', id)))
    expect(new Set(answers.map(({ data }) => JSON.stringify(data))).size).toBe(1)
    expect(answers[0]).toMatchObject({ status: 200, data: { id } })
    expect(await generate(edge, cookie, 'something else', id)).toMatchObject({
      status: 409,
      code: 'CONFLICT',
    })
  })

  test('saves nothing if the outside service closes its response early', async () => {
    const cookie = await signIn(backend.url)
    const before = await list(edge, cookie)
    expect(await generate(edge, cookie, 'broken')).toMatchObject({ status: 502, code: 'BAD_GATEWAY' })
    expect(await list(edge, cookie)).toEqual(before)
  })

  test('hides the reports of a user from others', async () => {
    expect(await list(edge, await signIn(backend.url, 'ada'))).toEqual({ status: 200, data: [] })
    expect(await list(edge, '')).toMatchObject({
      status: 401,
      reason: 'TOKEN_MISSING',
      replay: true,
    })
  })

  test('rejects a revoked session at once in both processes', async () => {
    const cookie = await signIn(backend.url)
    expect(await list(edge, cookie)).toMatchObject({ status: 200 })
    await revoke(cookie)
    for (const at of [edge, backend]) {
      const rejected = { status: 401, reason: 'SESSION_NOT_FOUND' }
      expect(await list(at, cookie)).toMatchObject(rejected)
      expect(await generate(at, cookie, 'too late')).toMatchObject(rejected)
    }
    expect(orders).not.toContainEqual(expect.objectContaining({ title: 'too late' }))
  })

  test('aborts the outside request when the session ends, and saves nothing', async () => {
    const cookie = await signIn(backend.url)
    const answers = [backend, edge].map((at, index) => generate(at, cookie, `slow ${index}`))
    while (pending.size < 2) await sleep(10)
    const left = [...pending.values()].map((response) => once(response, 'close'))
    await revoke(cookie)
    for (const answer of await Promise.all(answers))
      expect(answer).toMatchObject({ status: 401, reason: 'SESSION_NOT_FOUND' })
    await Promise.all(left)
    const { data } = await list(backend, await signIn(backend.url))
    expect(data).not.toContainEqual(expect.objectContaining({ title: expect.stringContaining('slow') }))
  })

  test('the internal listener rejects browsers and users', async () => {
    const cookie = await signIn(backend.url)
    const [, jwt = ''] = /service\.jwt=([^;]+)/.exec(cookie) ?? []
    const dispatcher = new Agent({ connect: { socketPath: join(folder, 'internal.sock') } })
    const status = async (headers: Record<string, string>) =>
      (await fetchOver('http://localhost/internal', { method: 'POST', headers, body: '{}', dispatcher }))
        .status
    expect(await status({})).toBe(401)
    expect(await status({ authorization: `Bearer ${jwt}` })).toBe(401)
    expect(await status({ authorization: `Bearer ${jwt}`, cookie })).toBe(403)
    await dispatcher.close()
  })

  test('a second backend on the same socket does not take it over', async () => {
    const socket = () => statSync(join(folder, 'internal.sock')).ino
    const before = socket()
    const second = await startExample({ ...variables, PORT: String(await freePort()) }, { folder })
    second.process.kill('SIGINT')
    expect(await second.exit).toBe(0)
    expect(socket()).toBe(before)
  })

  test('responds with 503 while the backend is down, keeps sessions, and recovers', async () => {
    const cookie = await signIn(backend.url)
    const id = crypto.randomUUID()
    const unavailable = { status: 503, reason: 'SESSIONS_UNAVAILABLE' }
    backend.process.kill('SIGKILL')
    await backend.exit
    expect((await fetch(`${edge.url}/healthz`)).status).toBe(503)
    expect(await list(edge, cookie)).toMatchObject(unavailable)
    expect(await generate(edge, cookie, 'later', id)).toMatchObject(unavailable)
    backend = await startBackend()
    expect((await fetch(`${edge.url}/healthz`)).status).toBe(200)
    expect(await generate(edge, cookie, 'later', id)).toMatchObject({ status: 200, data: { id } })
  })

  test('answers the calls in flight on SIGINT, then ends with 0', async () => {
    const answer = generate(edge, await signIn(backend.url), 'slow at the end')
    while (!pending.has('slow at the end')) await sleep(10)
    edge.process.kill('SIGINT')
    while (await fetch(`${edge.url}/healthz`).then(Boolean, () => false)) await sleep(10)
    pending.get('slow at the end')?.end('Report')
    expect(await answer).toMatchObject({ status: 200, data: { text: 'Report' } })
    expect(await edge.exit).toBe(0)
  })
})

describe('in production', () => {
  test('the edge does not start without service keys, and prints how to create them', async () => {
    const { exit, output } = await spawnExample({ NODE_ENV: 'production' }, { entry: 'edge.ts', folder })
    expect(await exit).toBe(1)
    expect(output()).toContain('sallyport keys create --prefix SERVICE_')
    expect(output()).toContain('SERVICE_SIGNING_KEYS')
  })
})
