import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { startPostgres } from '../../core/test/support/embedded-postgres.ts'
import { freePort } from '../../core/test/support/free-port.ts'
import { signIn } from './sign-in.ts'
import { startExample, untilSaid } from './start-example.ts'

const me = (url: string, cookie: string) => fetch(`${url}/trpc/me`, { headers: { cookie } })

test('the example runs on PostgreSQL; while it is down, the example is unhealthy and keeps its sessions', async () => {
  const server = await startPostgres()
  onTestFinished(server.stop)
  const example = await startExample({ DATABASE_URL: await server.createDatabase('app') })
  onTestFinished(async () => {
    example.process.kill('SIGKILL')
    await example.exit
  })
  const { url } = example
  const health = async () => (await fetch(`${url}/healthz`)).status
  const cookie = await signIn(url)
  expect([await health(), (await me(url, cookie)).status]).toEqual([200, 200])
  await server.crash()
  expect((await me(url, cookie)).status).toBe(503)
  // A check is shared for a second.
  while ((await health()) !== 503) await sleep(20)
  await server.start()
  while ((await health()) !== 200) await sleep(20)
  expect((await me(url, cookie)).status).toBe(200)
  example.process.kill('SIGINT')
  expect(await example.exit).toBe(0)
})

test('start:postgres starts and stops PostgreSQL with the example', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-'))
  // PostgreSQL runs as another user, who needs access to its directory.
  chmodSync(folder, 0o755)
  const port = await freePort()
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../scripts/start-postgres.ts', import.meta.url))],
    {
      env: {
        PATH,
        NODE_COMPILE_CACHE,
        POSTGRES_DIRECTORY: join(folder, 'postgres'),
        NODE_ENV: 'development',
        PORT: String(port),
        KEY_FILE: join(folder, 'keys', 'keys.json'),
      },
    },
  )
  const exit = once(child, 'close').then(([code]) => code)
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exit
    rmSync(folder, { recursive: true, force: true })
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  const url = `http://localhost:${port}`
  await untilSaid({ process: child, output: () => output }, `Sallyport example: ${url}`)
  expect(output).toMatch(/^PostgreSQL +postgres:\/\//m)
  expect((await me(url, await signIn(url))).status).toBe(200)
  child.kill('SIGINT')
  // A shell reports 130 for a program that SIGINT ended.
  expect([0, 130]).toContain(await exit)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => basename(path))
  expect(files).toContain('PG_VERSION')
  expect(files).not.toContain('postmaster.pid')
})
