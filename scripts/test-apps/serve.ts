import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'

type Command = readonly [file: string, ...args: string[]]

export interface StartOptions {
  readonly cwd: string
  /** Added to a few variables of this process: a build must need no secret. */
  readonly env?: Readonly<Record<string, string>>
}

interface ServeOptions extends StartOptions {
  /** A path of the server that responds once it is ready. */
  readonly url: string
  /** @default any response is enough */
  isReady?(response: Response): boolean
  /** How it must exit after a SIGTERM; null if the signal ends it. @default any */
  readonly exitCode?: number | null
}

/** A running server. Its disposal stops it. */
export interface Server extends AsyncDisposable {
  readonly origin: string
  readonly pid: number
  readonly output: () => string
}

/** Starts a server, and waits until it responds. */
export async function serve(command: Command, options: ServeOptions): Promise<Server> {
  const { url, isReady = () => true, exitCode } = options
  const { child, output } = start(command, options)
  const exited = once(child, 'exit')
  const ready = () => fetch(url).then(isReady, () => false)
  while (!(await ready())) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(output())
    await delay(50)
  }
  const { pid = 0 } = child
  return {
    origin: new URL(url).origin,
    pid,
    output,
    async [Symbol.asyncDispose]() {
      child.kill()
      const [code] = await Promise.race([exited, delay(20_000, ['still running'], { ref: false })])
      child.kill('SIGKILL')
      if (exitCode !== undefined || code === 'still running')
        assert.equal(code, exitCode, `${command.join(' ')}: ${output()}`)
    },
  }
}

/** Starts a program, and collects its output. */
export function start(
  [file, ...args]: Command,
  { cwd, env }: StartOptions,
): { child: ChildProcess; output: () => string } {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(file, args, { cwd, env: { PATH, HOME, ...env } })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  return { child, output: () => Buffer.concat(chunks).toString() }
}
