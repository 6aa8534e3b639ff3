import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { firstMessage } from '../support/first-message.ts'
import type { ServerSettings } from './server-settings.ts'

/** A server in a process of its own. */
export interface Server {
  readonly url: string
  /** Ends the process at once, in the middle of whatever it is doing. */
  kill(): void
  /** When it has gone. */
  readonly gone: Promise<unknown>
}

// What one process has compiled the next need not.
const compiled = fileURLToPath(new URL('../../node_modules/.cache/sallyport', import.meta.url))

/** Starts one server after the other. A process is always ready for the next, as it takes long to load. */
export function prepareServers(settings: ServerSettings): { start(): Promise<Server> } {
  let next = load()

  function load() {
    const child = fork(new URL('crash-server.ts', import.meta.url), [], {
      execArgv: [],
      env: { ...process.env, NODE_COMPILE_CACHE: compiled },
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }

  return {
    async start() {
      const child = next
      next = load()
      child.send(settings)
      const url = await firstMessage<string>(child)
      return { url, kill: () => void child.kill('SIGKILL'), gone: once(child, 'exit') }
    },
  }
}
