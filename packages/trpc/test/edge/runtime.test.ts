import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { type Identity, verifyJwt } from '@sallyport/core'
import type { TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { bundle } from '../../../core/test/support/bundle.ts'
import { runOnEdge } from '../../../core/test/support/run-on-edge.ts'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import { createInternalScene } from '../support/internal-scene.ts'

const path = fileURLToPath(new URL('./caller.ts', import.meta.url))
const edge = await runOnEdge<typeof import('./caller.ts')>(path)

const directory = temporaryDirectory()
const scene = await createInternalScene(directory)
let server: Server
let run: ReturnType<typeof edge.createCaller>
let ada: TestSession
let actor: Identity
beforeEach(async () => {
  scene.reset()
  const { auth, node, signingKeys } = scene
  ada = await auth.signIn()
  actor = await verifyJwt(ada.token, auth.config)
  server = createServer(getRequestListener(node.handler)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new TypeError('A port was expected')
  run = edge.createCaller({
    url: `http://127.0.0.1:${address.port}/internal`,
    baseUrl: auth.config.baseUrl,
    jwks: JSON.stringify(auth.definition.signingKeys.publicJwks),
    signingKeys: JSON.stringify(signingKeys),
    now: () => auth.clock.now().getTime(),
  })
  return stop
})
afterAll(() => scene.close())

async function stop(): Promise<void> {
  if (!server.listening) return
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}

const save = (idempotencyKey?: string) =>
  run({ type: 'mutation', path: 'report.save', input: { title: 'Größe' }, actor, idempotencyKey })

test('the edge calls a function of the backend on behalf of a user', async () => {
  expect(await run({ type: 'query', path: 'report.list', input: undefined, actor })).toBe(
    JSON.stringify({ by: ada.userId }),
  )
  expect(JSON.parse(await save())).toEqual({ title: 'Größe', by: ada.userId, id: 2 })
  expect(scene.work.runs).toEqual(['report.list', 'report.save'])
})

test("the edge reads a user's session", async () => {
  const { sessionId, userId } = ada
  const input = { sessionId, userId }
  const found = await run({ type: 'query', path: 'sallyport.findSession', input, actor: null })
  expect(JSON.parse(found)).toMatchObject({ id: sessionId, userId, user: { id: userId } })
})

test('a mutation with one idempotency key runs once', async () => {
  const key = crypto.randomUUID()
  expect(await save(key)).toBe(await save(key))
  expect(scene.work.runs).toEqual(['report.save'])
})

test("a function's error keeps its code, and a user whose session has ended is rejected", async () => {
  const fail = { type: 'mutation', path: 'work.fail', input: 'trpc', actor } as const
  expect(await run(fail)).toBe('PRECONDITION_FAILED Write something first')
  await scene.auth.revoke(ada)
  expect(await save()).toBe('SESSION_NOT_FOUND')
  expect(scene.work.runs).toEqual(['work.fail'])
})

test('an unreachable backend causes an error, not a result', async () => {
  await stop()
  expect(await save()).toBe('SESSIONS_UNAVAILABLE')
  expect(await run({ type: 'query', path: 'report.list', input: undefined, actor })).toBe(
    'SESSIONS_UNAVAILABLE',
  )
})

test("a caller's bundle has neither plugins nor endpoints", async () => {
  const { imports, files } = await bundle(path)
  expect(imports).toEqual([])
  const heavy = /core\/src\/(plugins|endpoints|database|cli)\/|node_modules\/(kysely|zod)\//
  expect(files.filter((file) => heavy.test(file))).toEqual([])
})
