import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBearerClient } from '../src/clients/bearer-client.ts'
import { createSseClient } from '../src/clients/sse-client.ts'
import { type Example, startExample } from './start-example.ts'

let example: Example
beforeAll(async () => {
  example = await startExample()
})
afterAll(async () => {
  example.process.kill('SIGKILL')
  await example.exit
})

function createStorage() {
  const items = new Map<string, string>()
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
  }
}

test('a bearer client signs in without cookies, and its SSE client receives the clock until the session ends', async () => {
  const { authClient, trpcClient } = createBearerClient(example.url, createStorage())
  expect(await trpcClient.greeting.query()).toBe('Hello, guest')
  const password = 'correct horse battery staple'
  const { sessionId } = await authClient.api.signInEmail({ email: 'ada@example.com', password })
  expect(await trpcClient.greeting.query()).toBe('Hello, Ada')

  const { promise: error, resolve: end } = Promise.withResolvers<unknown>()
  const { promise: first, resolve: begin } = Promise.withResolvers<unknown>()
  createSseClient(example.url, authClient).clock.subscribe(
    { intervalMs: 10 },
    { onData: begin, onError: end, onComplete: () => end('complete') },
  )
  expect(await first).toHaveProperty('now')
  await trpcClient.admin.revokeSession.mutate({ sessionId })
  expect(await error).toMatchObject({ data: { auth: { reason: 'SESSION_NOT_FOUND' } } })
})
