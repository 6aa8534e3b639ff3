import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../../../core/test/support/free-port.ts'

/** The command of Next.js that an app has. */
const commandOf = (folder: string): string => createRequire(`${folder}/`).resolve('next/dist/bin/next')

interface RunOptions {
  readonly cwd: string
  /** Added to a few variables of this process: a build must need no secret. */
  readonly env?: Readonly<Record<string, string>>
}

/** Runs a command of Next.js to its end, and returns its output. Throws it if the command fails. */
export async function runNext(args: readonly string[], options: RunOptions): Promise<string> {
  const { child, output } = start(commandOf(options.cwd), args, options)
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`next ${args.join(' ')} ended with ${code}\n${output()}`)
  return output()
}

/** A server of Next.js. */
export interface NextServer extends AsyncDisposable {
  readonly origin: string
  readonly pid: number
  readonly output: () => string
}

/** Starts a server on a free port, by a command of Next.js or another script, and waits until it responds. */
export async function serveNext(
  { script, args = [] }: { script?: string; args?: readonly string[] },
  { cwd, env }: RunOptions,
): Promise<NextServer> {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const { child, output } = start(script ?? commandOf(cwd), args, {
    cwd,
    env: { ...env, PORT: `${port}`, HOSTNAME: 'localhost', BASE_URL: origin },
  })
  const exited = once(child, 'exit')
  while (!(await fetch(origin).catch(() => null))) {
    if (child.exitCode !== null) throw new Error(output())
    await delay(100)
  }
  const { pid = 0 } = child
  return {
    origin,
    pid,
    output,
    async [Symbol.asyncDispose]() {
      child.kill()
      await exited
    },
  }
}

function start(
  script: string,
  args: readonly string[],
  { cwd, env }: RunOptions,
): { child: ChildProcess; output: () => string } {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [script, ...args], {
    cwd,
    env: { PATH, HOME, NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production', ...env },
  })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  return { child, output: () => Buffer.concat(chunks).toString() }
}
