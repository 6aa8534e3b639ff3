import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'

interface ServeOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** A path of the server that responds once it is ready. */
  readonly url: string
  /** How it must exit after a SIGTERM; null if the signal ends it. @default 0 */
  readonly exitCode?: number | null
}

/** Starts a server, and waits until it responds. Its disposal stops it. */
export async function serve(
  args: readonly string[],
  { cwd, env, url, exitCode = 0 }: ServeOptions,
): Promise<AsyncDisposable> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, args, { cwd, env: { PATH, HOME, ...env } })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk))
  const exited = once(child, 'exit')
  while (!(await fetch(url).catch(() => null))) {
    if (child.exitCode !== null) throw new Error(Buffer.concat(output).toString())
    await delay(50)
  }
  return {
    async [Symbol.asyncDispose]() {
      child.kill()
      const [code] = await Promise.race([exited, delay(15_000, ['still running'], { ref: false })])
      child.kill('SIGKILL')
      assert.equal(code, exitCode, `${args.join(' ')}: ${Buffer.concat(output)}`)
    },
  }
}
