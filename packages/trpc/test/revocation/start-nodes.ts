import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { firstMessage } from '../../../core/test/support/first-message.ts'
import type { OnCleanup } from './cleanup.ts'
import type { NodeSettings } from './node-settings.ts'

/** A server in a separate process. */
export interface Node {
  /** Address and port. */
  readonly host: string
  /** Suspends the process without ending it. */
  pause(): void
  resume(): void
}

/** Two nodes. */
export type Nodes = readonly [here: Node, there: Node]

/** Starts a node with each of these settings. */
export function startNodes(here: NodeSettings, there: NodeSettings, onCleanup: OnCleanup): Promise<Nodes> {
  return Promise.all([startNode(here, onCleanup), startNode(there, onCleanup)])
}

async function startNode(settings: NodeSettings, onCleanup: OnCleanup): Promise<Node> {
  const child: ChildProcess = fork(new URL('revocation-node.ts', import.meta.url), [], {
    execArgv: [],
  })
  // A suspended process only receives SIGKILL.
  onCleanup(async () => {
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
