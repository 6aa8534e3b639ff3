import { fork } from 'node:child_process'
import { once } from 'node:events'
import { firstMessage } from '../../../core/test/support/first-message.ts'
import type { OnCleanup } from '../revocation/cleanup.ts'
import type { BackendSettings } from './backend-settings.ts'

/** A backend in a separate process. */
export interface Backend {
  /** Kills it immediately, and resolves once it has exited. */
  kill(): Promise<void>
}

/** Starts one backend after another. The next process is always preloaded, since loading is slow. */
export function prepareBackends(
  settings: BackendSettings,
  onCleanup: OnCleanup,
): { start(): Promise<Backend> } {
  let next = load()

  function load() {
    const child = fork(new URL('../fixtures/backend-node.ts', import.meta.url), [], {
      execArgv: [],
    })
    onCleanup(() => void child.kill('SIGKILL'))
    return child
  }

  return {
    async start() {
      const child = next
      next = load()
      const gone = once(child, 'exit')
      child.send(settings)
      await firstMessage(child)
      return {
        async kill() {
          child.kill('SIGKILL')
          await gone
        },
      }
    },
  }
}
