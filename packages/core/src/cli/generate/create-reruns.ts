import { type ChildProcess, spawn } from 'node:child_process'

/** Runs of this command one after the other, each in a process of its own. */
export interface Reruns {
  /** Begins another run, or remembers to when the one that is running has ended. */
  run(): void
  /** Ends the one that is running. */
  stop(): void
}

/** @param args what `sallyport` is called with */
export function createReruns(args: readonly string[]): Reruns {
  const [node = process.execPath, command = ''] = process.argv
  const state: { running: ChildProcess | null; isStale: boolean } = { running: null, isStale: false }

  function run(): void {
    state.isStale = state.running !== null
    if (state.isStale) return
    state.running = spawn(node, [...process.execArgv, command, ...args], { stdio: 'inherit' })
    state.running.once('close', () => {
      state.running = null
      if (state.isStale) run()
    })
  }

  return {
    run,
    stop() {
      state.isStale = false
      // What an auth definition does about other signals must not keep it.
      state.running?.kill('SIGKILL')
    },
  }
}
