import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { firstMessage } from '../../../core/test/support/first-message.ts'
import type { AtEnd } from '../revocation/at-end.ts'
import type { BackendSettings } from './backend-settings.ts'

/** A backend in a process of its own. */
export interface Backend {
  /** Ends it at once, in the middle of whatever it is doing; resolves when it has gone. */
  kill(): Promise<void>
}

// What one process has compiled the next need not.
const compiled = fileURLToPath(new URL('../../node_modules/.cache/sallyport', import.meta.url))

/** Starts one backend after the other. A process is always ready for the next, as it takes long to load. */
export function prepareBackends(settings: BackendSettings, atEnd: AtEnd): { start(): Promise<Backend> } {
  let next = load()

  function load() {
    const child = fork(new URL('../fixtures/backend-node.ts', import.meta.url), [], {
      execArgv: [],
      env: { ...process.env, NODE_COMPILE_CACHE: compiled },
    })
    atEnd(() => void child.kill('SIGKILL'))
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
