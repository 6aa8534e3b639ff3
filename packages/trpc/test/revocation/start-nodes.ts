import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { firstMessage } from '../../../core/test/support/first-message.ts'
import type { AtEnd } from './at-end.ts'
import type { NodeSettings } from './node-settings.ts'

/** A server in a process of its own. */
export interface Node {
  /** Address and port. */
  readonly host: string
  /** Stops the process where it stands; it does not end. */
  pause(): void
  resume(): void
}

// What one process has compiled the next need not.
const compiled = fileURLToPath(new URL('../../node_modules/.cache/sallyport', import.meta.url))

/** Two of them. */
export type Nodes = readonly [here: Node, there: Node]

/** Starts a node with each of these settings. */
export function startNodes(here: NodeSettings, there: NodeSettings, atEnd: AtEnd): Promise<Nodes> {
  return Promise.all([startNode(here, atEnd), startNode(there, atEnd)])
}

async function startNode(settings: NodeSettings, atEnd: AtEnd): Promise<Node> {
  const child: ChildProcess = fork(new URL('revocation-node.ts', import.meta.url), [], {
    execArgv: [],
    env: { ...process.env, NODE_COMPILE_CACHE: compiled },
  })
  // One that was stopped hears no other.
  atEnd(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  child.send(settings)
  const host = await firstMessage<string>(child)
  return {
    host,
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  }
}
