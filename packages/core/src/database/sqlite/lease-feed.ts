import { memoryFeed } from '../../revocations/feed.ts'
import type { OpenFeed } from './driver.ts'

/** Creates a feed that sees only the revocations of this process, and warns about it. */
export function leaseFeed(database: string): OpenFeed {
  console.warn(
    `sallyport: ${database} doesn't report changes, so a live stream ends up to 5 s after another process revokes its session. Calls are checked as strictly as ever. To end streams at once, use a local file or PostgreSQL.`,
  )
  return Object.assign(memoryFeed(), { close() {} })
}
