import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** `node src/server.ts` in a process of its own, with a folder of its own for database and keys. */
export interface Example {
  readonly url: string
  readonly folder: string
  readonly process: ChildProcess
  /** What it has written so far. */
  output(): string
  /** The exit code, once it has ended; its folder is gone then. */
  readonly exit: Promise<number | null>
}

/** Starts the example and does not wait for it. */
export async function spawnExample(env: Record<string, string> = {}): Promise<Example> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-'))
  const port = await freePort()
  const child = spawn(process.execPath, ['src/server.ts'], {
    cwd: new URL('..', import.meta.url),
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'development',
      PORT: String(port),
      DATABASE_URL: `file:${join(folder, 'example.db')}`,
      KEY_FILE: join(folder, 'keys', 'keys.json'),
      ...env,
    },
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  return {
    url: `http://localhost:${port}`,
    folder,
    process: child,
    output: () => output,
    exit: once(child, 'close').then(([code]) => {
      rmSync(folder, { recursive: true })
      return code
    }),
  }
}

/** Starts the example and waits until it listens. */
export async function startExample(env: Record<string, string> = {}): Promise<Example> {
  const example = await spawnExample(env)
  while (!example.output().includes(example.url)) {
    if (example.process.exitCode !== null) throw new Error(`The example ended: ${example.output()}`)
    await sleep(10)
  }
  return example
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new TypeError('A port was expected')
  return address.port
}
