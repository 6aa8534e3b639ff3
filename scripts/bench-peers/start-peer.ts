import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { firstMessage } from '../../packages/core/test/support/first-message.ts'
import type { PeerName, ServerName } from './peers.ts'

interface Place {
  readonly folder: string
  readonly databaseUrl: string
}

/** A running server of one peer. */
export interface RunningPeer {
  readonly port: number
  usage(question: 'processor' | 'memory'): Promise<Usage>
  stop(): Promise<void>
}

/** Microseconds of processor time so far, and bytes. A question for the memory collects garbage first. */
interface Usage {
  readonly processor: number
  readonly rss: number
}

interface SignedIn {
  readonly userId: string
  readonly cookie: string
}

/** What `app/seed.ts` has written, and the process that can change it. */
export interface SeededPeer {
  readonly cookies: readonly string[]
  readonly grace: SignedIn
  readonly mary: SignedIn
  readonly hasBans: boolean
  tell(command: { revoke: string } | { ban: string } | { breakTable: true }): Promise<void>
}

/** Whether servers run on the first core, and this process on the second one. */
export const isPinned: boolean =
  availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0
if (isPinned) spawnSync('taskset', ['-acp', '1', String(process.pid)])

export async function startPeer(name: ServerName, place: Place): Promise<RunningPeer> {
  const server = forkApp('serve', [name, place.databaseUrl], place)
  const port = await firstMessage<number>(server)
  return {
    port,
    async usage(question) {
      const answer = once(server, 'message')
      server.send(question)
      const [usage] = await answer
      return usage
    },
    async stop() {
      const ended = once(server, 'exit')
      server.disconnect()
      await ended
    },
  }
}

export async function seedPeer(
  name: PeerName,
  { sessions, ...place }: Place & { sessions: number },
): Promise<SeededPeer> {
  const seeder = forkApp('seed', [name, place.databaseUrl, String(sessions)], place)
  const seeded = await firstMessage<Omit<SeededPeer, 'tell'>>(seeder)
  return {
    ...seeded,
    async tell(command) {
      const done = once(seeder, 'message')
      seeder.send(command)
      await done
    },
  }
}

function forkApp(script: 'serve' | 'seed', args: readonly string[], { folder }: Place): ChildProcess {
  const flags = ['--env-file=.env', '--expose-gc']
  const isServer = script === 'serve' && isPinned
  return fork(join(folder, 'app', `${script}.ts`), args, {
    cwd: folder,
    env: { ...process.env, NODE_ENV: 'production' },
    // Some libraries log rejected calls.
    stdio: ['ignore', 'ignore', openSync(join(folder, `${args[0]}.log`), 'a'), 'ipc'],
    execPath: isServer ? 'taskset' : process.execPath,
    execArgv: isServer ? ['-c', '0', process.execPath, ...flags] : flags,
  })
}
