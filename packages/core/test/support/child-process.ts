import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A program of `test/fixtures` in a separate process. */
export interface Child {
  /** Resolves with its next message. Rejects if it exits without one. */
  nextMessage(): Promise<unknown>
  /** Sends a message, so it continues. */
  tell(message: string): void
  /** Kills it if it is still running. */
  kill(): void
}

const FIXTURES = {
  closePostgres: new URL('../fixtures/close-postgres.ts', import.meta.url),
  holdWriteLock: new URL('../fixtures/hold-write-lock.ts', import.meta.url),
  lockOutReaders: new URL('../fixtures/lock-out-readers.ts', import.meta.url),
  openDatabase: new URL('../fixtures/open-database.ts', import.meta.url),
  writeSteadily: new URL('../fixtures/write-steadily.ts', import.meta.url),
  writeOften: new URL('../fixtures/write-often.ts', import.meta.url),
}

export function startFixture(name: keyof typeof FIXTURES, ...args: string[]): Child {
  const child: ChildProcess = fork(fileURLToPath(FIXTURES[name]), args, { execArgv: [] })
  const messages: unknown[] = []
  child.on('message', (message) => messages.push(message))
  // Comes after the last message, unlike `exit`.
  const disconnected = once(child, 'disconnect')
  return {
    async nextMessage() {
      while (messages.length === 0) {
        await Promise.race([once(child, 'message'), disconnected])
        if (messages.length === 0) throw new Error(`${name} ended without a message`)
      }
      return messages.shift()
    },
    tell: (message) => void child.send(message),
    kill: () => void child.kill(),
  }
}
