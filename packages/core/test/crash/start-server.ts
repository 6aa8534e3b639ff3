import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { firstMessage } from '../support/first-message.ts'
import type { ServerSettings } from './server-settings.ts'

/** A server in a separate process. */
export interface Server {
  readonly url: string
  /** Kills the process at once, whatever it is doing. */
  kill(): void
  /** Resolves when the process has exited. */
  readonly gone: Promise<unknown>
}

// Processes share the compile cache.
const compiled = fileURLToPath(new URL('../../node_modules/.cache/sallyport', import.meta.url))

/** Starts one server after another. Loading takes long, so the next process is always started ahead. */
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
