import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { AuthConfig } from '@sallyport/core'
import { firstMessage } from '../../core/test/support/first-message.ts'
import type { AppDatabase } from '../test/revocation/open-database.ts'
import type { SignedIn } from '../test/revocation/signed-in-users.ts'
import { createOpener, type Stream } from './open-stream.ts'
import { watchTurns } from './watch-turns.ts'

interface Installation {
  readonly url: string
  readonly db: AppDatabase['db']
  readonly config: AuthConfig
}

/** Where the commit is made. */
type Place = 'this process' | 'another process'

/**
 * Opens a stream for each of these sessions. Deletes all sessions in one commit, and prints when the last
 * stream has ended.
 */
export async function revokeStreams(
  title: string,
  { place, people, ...installation }: Installation & { place: Place; people: readonly SignedIn[] },
): Promise<void> {
  const { db, config } = installation
  const open = createOpener(config)
  const streams: Stream[] = []
  for (const { cookie } of people) streams.push(await open(cookie, db))
  const remove = place === 'this process' ? removeHere(installation) : await removeElsewhere(installation)
  globalThis.gc?.()
  const stopWatching = watchTurns()
  const startedAt = now()
  const [acknowledgedAt, endedAt] = await Promise.all([
    remove(),
    Promise.all(streams.map(({ ended }) => ended)),
  ])
  const { longest, above10, total } = stopWatching()
  const lastAt = performance.timeOrigin + endedAt.reduce((last, at) => Math.max(last, at), 0)
  const [commitMs, lastMs] = [acknowledgedAt - startedAt, lastAt - acknowledgedAt].map((ms) => ms.toFixed(0))
  console.log(
    `${title}, revoked by ${place}: commit ${commitMs} ms, last stream ended ${lastMs} ms later; turns: longest ${longest.toFixed(1)}, above 10 ms ${above10}, in all ${total.toFixed(0)}`,
  )
}

/** Milliseconds on a clock that processes share. */
function now(): number {
  return performance.timeOrigin + performance.now()
}

function removeHere({ db }: Installation) {
  return async () => {
    await db.deleteFrom('session').execute()
    return now()
  }
}

async function removeElsewhere({ url }: Installation) {
  const child = fork(fileURLToPath(new URL('delete-sessions.ts', import.meta.url)), [url], { execArgv: [] })
  await firstMessage(child)
  return () => {
    const acknowledged = firstMessage<number>(child)
    child.send('delete')
    return acknowledged
  }
}
