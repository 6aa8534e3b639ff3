import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import { cookieFetch } from '../support/cookie-fetch.ts'
import { sallyport } from '../support/sallyport.ts'
import { ROOT, readDocument } from './read-documents.ts'

const [section = ''] = /^## Quick start\n[\s\S]*?(?=^Start it)/m.exec(
  readFileSync(join(ROOT, 'README.md'), 'utf8'),
) ?? ['']
const files = readDocument('README.md', section).blocks.filter(({ language }) => language === 'ts')
const folder = temporaryDirectory()

test('the quick start adds at most five files and 41 lines to an app', () => {
  const isCode = (line: string) => !/^\s*(\/\/.*)?$/.test(line)
  const added = files.flatMap(({ name, code }) => {
    const before = new URL(`before/${name}`, import.meta.url)
    const old = existsSync(before) ? readFileSync(before, 'utf8').split('\n') : []
    return code.split('\n').filter((line) => isCode(line) && !old.includes(line))
  })
  expect(files.map(({ name }) => name)).toEqual([
    'auth.config.ts',
    'auth.ts',
    'context.ts',
    'router.ts',
    'server.ts',
  ])
  expect(added.length).toBeGreaterThan(30)
  expect(added.length).toBeLessThanOrEqual(41)
})

test('its files, as they stand there, serve a protected, an admin and a sensitive procedure', async () => {
  const url = await startQuickStart()
  const { fetch } = cookieFetch({ 'x-sallyport': '1', 'content-type': 'application/json' })
  const post = (path: string, body: unknown) =>
    fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })
  const ask = async (path: string) => (await fetch(`${url}${path}`)).json()

  expect(await ask('/trpc/me')).toMatchObject({ error: { data: { auth: { reason: 'TOKEN_MISSING' } } } })
  const signUp = { name: 'Grace', email: 'grace@example.com', password: 'a long password' }
  expect((await post('/api/auth/sign-up/email', signUp)).status).toBe(200)
  expect(await ask('/trpc/me')).toMatchObject({ result: { data: { name: 'Grace' } } })
  expect(await ask('/trpc/users')).toMatchObject({ error: { data: { auth: { reason: 'ROLE_REQUIRED' } } } })
  expect((await post('/trpc/rotateKey', null)).status).toBe(200)
  // Bodies are limited on both paths, also where their length is not announced.
  for (const path of ['/trpc/rotateKey', '/api/auth/sign-in/email']) {
    expect((await post(path, 'x'.repeat(65_536))).status).toBe(413)
    const body = new Blob([JSON.stringify('x'.repeat(65_536))]).stream()
    const streamed: RequestInit & { duplex: 'half' } = { method: 'POST', body, duplex: 'half' }
    expect((await fetch(`${url}${path}`, streamed)).status).toBe(413)
  }
  expect(addressesIn('data/app.db')).toEqual([expect.stringMatching(/^(127\.0\.0\.1|::1)$/)])
  expect((await post('/api/auth/sign-out', {})).status).toBe(200)
  expect(await ask('/trpc/me')).toMatchObject({ error: { data: { auth: { reason: 'TOKEN_MISSING' } } } })
})

/** The addresses that the sessions in a database began from. */
function addressesIn(file: string): unknown[] {
  const database = new Database(join(folder, file), { readonly: true })
  const addresses = database.prepare('select ipAddress from session').pluck().all()
  database.close()
  return addresses
}

/** Writes the files into a folder, as a reader does, and starts them on a free port. */
async function startQuickStart(): Promise<string> {
  for (const { name, code } of files)
    writeFileSync(join(folder, name ?? ''), code.replace('port: 3000', 'port: 0'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, '.env'), await sallyport('keys', 'create'))
  symlinkSync(join(ROOT, 'packages/example/node_modules'), join(folder, 'node_modules'))
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const server = spawn(process.execPath, ['--env-file=.env', 'server.ts'], {
    cwd: folder,
    env: { PATH, NODE_COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(async () => {
    if (server.kill()) await once(server, 'exit')
  })
  const [url] = await Promise.race([
    once(server.stdout.setEncoding('utf8'), 'data'),
    once(server, 'exit').then(([code]) => Promise.reject(new Error(`It ended with ${code}`))),
  ])
  return String(url).trim()
}
