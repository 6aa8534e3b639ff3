import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Run } from './run-sallyport.ts'

/** A call of `sallyport`. */
export interface Call {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** What a pipe into the call contains. */
  readonly input: string
}

/** A process that stays for many calls of `sallyport`. */
export interface SallyportHost {
  /** Runs a call to its end, after the calls before it. */
  run(
    args: readonly string[],
    place: { cwd: string; env?: Readonly<Record<string, string>>; input?: string },
  ): Promise<Run>
  stop(): void
}

/**
 * Starts a process for calls that end without a signal, and whose tests check only the exit code, the output,
 * and the files. Other calls need {@link runSallyport}.
 */
export function hostSallyport(): SallyportHost {
  const { DATABASE_URL: _, KEY_FILE: __, ...inherited } = process.env
  let host: { child: ChildProcess; gone: Promise<never> } | undefined
  let last: Promise<unknown> = Promise.resolve()

  function start() {
    const child = fork(new URL('sallyport-process.ts', import.meta.url), {
      execArgv: [],
      env: inherited,
    })
    const gone = once(child, 'exit').then(([code]) => {
      throw new Error(`The process of the calls ended with ${code}`)
    })
    gone.catch(() => {})
    return { child, gone }
  }

  async function call(message: Call): Promise<Run> {
    host ??= start()
    const answered = once(host.child, 'message')
    host.child.send(message)
    const [run] = await Promise.race([answered, host.gone])
    return run
  }

  return {
    run(args, { cwd, env = {}, input = '' }) {
      const run = last.then(() => call({ args, cwd, env, input }))
      last = run.catch(() => {})
      return run
    },
    stop: () => void host?.child.kill(),
  }
}
