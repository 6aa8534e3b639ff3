import { fork } from 'node:child_process'
import { once } from 'node:events'
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

/** Starts one server after another. Loading takes long, so the next process is always started ahead. */
export function prepareServers(settings: ServerSettings): { start(): Promise<Server> } {
  let next = load()

  function load() {
    const child = fork(new URL('crash-server.ts', import.meta.url), [], {
      execArgv: [],
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
