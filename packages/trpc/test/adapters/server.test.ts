import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { firstMessage } from '../../../core/test/support/first-message.ts'
import { ORIGIN } from '../support/visitor.ts'

test('on SIGTERM, the server reconnects its sockets elsewhere, finishes its calls, and closes the database', async () => {
  const child = fork(new URL('server-node.ts', import.meta.url), { env: { ...process.env, PORT: '0' } })
  onTestFinished(() => void child.kill('SIGKILL'))
  const { host, cookie } = await firstMessage<{ host: string; cookie: string }>(child)
  expect(await (await fetch(`http://${host}/healthz`)).json()).toMatchObject({ ok: true, write: 'ok' })

  const socket = new WebSocket(`ws://${host}/trpc`, { headers: { cookie, origin: ORIGIN } })
  await once(socket, 'open')
  const slow = fetch(`http://${host}/trpc/slow`, { headers: { cookie } })
  await once(child, 'message')
  const [message, closed, exited] = [once(socket, 'message'), once(socket, 'close'), once(child, 'exit')]
  child.kill('SIGTERM')

  const [frame] = await message
  expect(JSON.parse(String(frame))).toEqual({ id: null, method: 'reconnect' })
  expect((await closed)[0]).toBe(1001)
  expect(await (await slow).json()).toEqual({ result: { data: 'done' } })
  expect(await exited).toEqual([0, null])
})

test('a server with an unguarded procedure does not start', async () => {
  const child = fork(new URL('server-node.ts', import.meta.url), ['unguarded'], {
    env: { ...process.env, PORT: '0' },
    silent: true,
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stderr?.on('data', (chunk) => {
    printed += chunk
  })
  expect(await once(child, 'close')).toEqual([1, null])
  expect(printed).toContain('secrets has no session middleware and is not listed as public')
})

test.each([
  'web.ts',
  'server.ts',
  'hono.ts',
  'express.ts',
  'fastify.ts',
  'node-http.ts',
  'lambda.ts',
  'express-trpc.ts',
  'fastify-trpc.ts',
])('docs/server.md has the text of %s', (name) => {
  const code = readFileSync(join(import.meta.dirname, name), 'utf8')
  const document = readFileSync(join(import.meta.dirname, '../../../../docs/server.md'), 'utf8')
  expect(document).toContain(`\`\`\`ts\n// ${name}\n${code}\`\`\`\n`)
})
