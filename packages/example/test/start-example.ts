import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../core/test/support/free-port.ts'

// Shorter than the timeout of a test, so the failure says what is missing.
const MAX_WAIT_MS = 55_000

/** A process of the example, with a folder for its database, keys, and socket. */
export interface Example {
  readonly url: string
  readonly folder: string
  readonly process: ChildProcess
  /** Returns what the process has printed. */
  output(): string
  /** The exit code. A folder that isn't shared has been deleted by then. */
  readonly exit: Promise<number | null>
}

/** Options of {@link spawnExample}. */
export interface ExampleOptions {
  /** @default server.ts */
  readonly entry?: 'server.ts' | 'edge.ts'
  /** A folder that processes share. @default a new folder */
  readonly folder?: string
}

/** Starts the example without waiting for it. */
export async function spawnExample(
  env: Record<string, string> = {},
  { entry = 'server.ts', folder: shared }: ExampleOptions = {},
): Promise<Example> {
  const folder = shared ?? mkdtempSync(join(tmpdir(), 'sallyport-'))
  const port = env.PORT ?? String(await freePort())
  const edgePort = String(await freePort())
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const child = spawn(process.execPath, [`src/${entry}`], {
    cwd: new URL('..', import.meta.url),
    env: {
      PATH,
      NODE_COMPILE_CACHE,
      NODE_ENV: 'development',
      PORT: port,
      EDGE_PORT: edgePort,
      DATABASE_URL: `file:${join(folder, 'example.db')}`,
      KEY_FILE: join(folder, 'keys', 'keys.json'),
      SERVICE_KEY_FILE: join(folder, 'keys', 'service-keys.json'),
      ENCRYPTION_KEY_FILE: join(folder, 'keys', 'encryption-key'),
      INTERNAL_SOCKET: join(folder, 'internal.sock'),
      REPORT_STEP_MS: '0',
      ...env,
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  return {
    url: `http://localhost:${entry === 'edge.ts' ? edgePort : port}`,
    folder,
    process: child,
    output: () => output,
    exit: once(child, 'close').then(([code]) => {
      if (shared === undefined) rmSync(folder, { recursive: true })
      return code
    }),
  }
}

/** Starts the example and waits until it listens. */
export async function startExample(
  env: Record<string, string> = {},
  options: ExampleOptions = {},
): Promise<Example> {
  const example = await spawnExample(env, options)
  await untilSaid(example, example.url)
  return example
}

/** Waits until a process has printed a text. */
export async function untilSaid(
  { process, output }: Pick<Example, 'process' | 'output'>,
  text: string,
): Promise<void> {
  const deadline = Date.now() + MAX_WAIT_MS
  while (!output().includes(text)) {
    if (process.exitCode !== null) throw new Error(`The example has exited: ${output()}`)
    if (Date.now() > deadline) throw new Error(`The example has not printed "${text}": ${output()}`)
    await sleep(10)
  }
}
