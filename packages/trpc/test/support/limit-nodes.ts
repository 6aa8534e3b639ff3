import { type ChildProcess, fork } from 'node:child_process'
import { firstMessage } from '../../../core/test/support/first-message.ts'

/** Several processes with one limited procedure, which allows ten calls, on one SQLite file. */
export interface LimitNodes {
  /** Calls the procedure of a node for a client of this address: the status of the answer. */
  ping(node: number, address: string): Promise<number>
  close(): void
}

export async function startLimitNodes(databasePath: string, count: number): Promise<LimitNodes> {
  const children: ChildProcess[] = []
  const urls: string[] = []
  // One after the other: the first one makes the file.
  for (let i = 0; i < count; i++) {
    const program = new URL('../fixtures/limit-node.ts', import.meta.url)
    const child = fork(program, [databasePath, '10'], { execArgv: [] })
    children.push(child)
    urls.push(await firstMessage(child))
  }
  return {
    async ping(node, address) {
      const response = await fetch(`${urls[node]}/ping`, { headers: { 'x-forwarded-for': address } })
      await response.arrayBuffer()
      return response.status
    },
    close() {
      for (const child of children) child.kill()
    },
  }
}
