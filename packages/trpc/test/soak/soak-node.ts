/** A node that also measures itself when asked. */
import { readdirSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import '../revocation/revocation-node.ts'

/** What the process holds while only standing connections are open. */
export interface Sample {
  readonly heapBytes: number
  readonly rssBytes: number
  /** Sockets, timers, and other resources that keep the process alive. */
  readonly resources: number
  readonly fileDescriptors: number
}

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

process.on('message', (message) => {
  if (message !== 'measure') return
  collectGarbage()
  collectGarbage()
  const { heapUsed, rss } = process.memoryUsage()
  const sample: Sample = {
    heapBytes: heapUsed,
    rssBytes: rss,
    resources: process.getActiveResourcesInfo().length,
    fileDescriptors: process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0,
  }
  process.send?.(sample)
})
