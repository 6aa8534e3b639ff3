/**
 * Runs calls of `sallyport` one after another in one process, because each loads the same libraries. A call
 * has a separate folder, environment, and arguments. Its output and exit code are sent back.
 */
import { Readable } from 'node:stream'
import type { Call } from './host-sallyport.ts'
import type { Run } from './run-sallyport.ts'

const main = new URL('../../src/cli/main.ts', import.meta.url)
const streams = ['stdout', 'stderr'] as const
let calls = 0

/** Replaces the exit of the process. */
class Exit extends Error {}

async function run({ args, cwd, env, input }: Call): Promise<Run> {
  const before = { env: { ...process.env }, write: streams.map((name) => process[name].write) }
  const printed = { stdout: '', stderr: '' }
  let code: number | null = null
  let ended: Run | undefined
  const end = (): Run => ({ code: code ?? Number(process.exitCode ?? 0), ...printed })

  process.argv = [process.execPath, main.pathname, ...args]
  process.exitCode = undefined
  process.chdir(cwd)
  Object.defineProperty(process, 'stdin', { value: Readable.from([input]), configurable: true })
  Object.assign(process.env, env)
  for (const name of streams) {
    process[name].write = (text: string | Uint8Array, done?: unknown) => {
      printed[name] += String(text)
      if (typeof done === 'function') done()
      return true
    }
  }
  process.exit = (status) => {
    code = Number(status ?? process.exitCode ?? 0)
    // In a real process, nothing after the exit would be printed.
    ended ??= end()
    throw new Exit()
  }
  try {
    calls++
    await import(`${main.href}?${calls}`)
  } catch (error) {
    if (!(error instanceof Exit)) throw error
  }
  ended ??= end()
  for (const [i, name] of streams.entries()) process[name].write = before.write[i] ?? process[name].write
  for (const name of Object.keys(process.env)) if (!(name in before.env)) delete process.env[name]
  Object.assign(process.env, before.env)
  for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal)
  return ended
}

let last: Promise<unknown> = Promise.resolve()
process.on('message', (call: Call) => {
  last = last.then(async () => process.send?.(await run(call)))
})
