import { join } from 'node:path'
import { type AuthDatabase, type Reason, withAuthStore } from '@sallyport/core'
import { openSqlite, type SqliteAuthDatabase } from '@sallyport/core/sqlite'
import { createTestAuth, type TestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { callerFor } from '../support/connect.ts'
import { type CountingFeed, countingFeed } from '../support/counting-feed.ts'
import { soon } from '../support/soon.ts'
import { createStage } from '../support/stage.ts'
import { readStream, type Stream } from '../support/stream.ts'
import { expectEnd } from '../support/streams.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { browser } from '../support/visitor.ts'

const url = `file:${join(temporaryDirectory(), 'app.db')}`
const stage = createStage(async () => {})

/** Where sessions change, and another node on the same file, which has a store and a feed of its own. */
let auth: TestAuth
let node: SqliteAuthDatabase<unknown>
let feed: CountingFeed
let db: AuthDatabase
beforeAll(async () => {
  auth = await createTestAuth({ databaseUrl: url })
  node = await openSqlite(url)
  feed = countingFeed(node.revocations)
  db = withAuthStore({}, { sessions: node.sessions, revocations: feed })
})
afterEach(() => soon(() => expect(feed.listeners).toBe(0)))
afterAll(async () => {
  await node.close()
  await auth.close()
})

/** Opens a stream on the other node. */
async function begin(session: TestSession, procedure: 'clock' | 'adminClock' = 'clock'): Promise<Stream> {
  const iterable = await callerFor({ config: auth.config, db, stage }, browser(session))[procedure]()
  const stream = readStream(iterable, () => void iterable[Symbol.asyncIterator]().return?.())
  expect((await stream.first).data).toBe('ready')
  return stream
}

const changes: { change: string; make: (session: TestSession) => Promise<unknown>; reason: Reason }[] = [
  { change: 'a revocation', make: (it) => auth.revoke(it), reason: 'SESSION_NOT_FOUND' },
  { change: 'a ban', make: (it) => auth.ban(it), reason: 'ACCOUNT_BANNED' },
  {
    change: 'a session deleted by hand',
    make: ({ sessionId }) => auth.db.deleteFrom('session').where('id', '=', sessionId).execute(),
    reason: 'SESSION_NOT_FOUND',
  },
  {
    change: 'an expiry that was moved',
    make: (it) => auth.expireSession(it),
    reason: 'SESSION_EXPIRED',
  },
]

test.each(changes)('$change in one store ends a stream on another with $reason', async ({ make, reason }) => {
  const session = await auth.signIn()
  const bystander = await begin(await auth.signIn())
  const stream = await begin(session)
  await make(session)
  expectEnd(await stream.ended, reason)
  stage.ticker.emit('tick', 'later')
  await soon(() => expect(bystander.values).toEqual(['ready', 'later']))
  expect(stream.values).toEqual(['ready'])
  bystander.unsubscribe()
})

test('a role that is lost in one store ends a guarded stream on another, and no other stream', async () => {
  const session = await auth.signIn({ role: 'admin' })
  const [guarded, free] = [await begin(session, 'adminClock'), await begin(session)]
  await auth.db.updateTable('user').set({ role: 'user' }).where('id', '=', session.userId).execute()
  expectEnd(await guarded.ended, 'ROLE_REQUIRED')
  stage.ticker.emit('tick', 'still here')
  await soon(() => expect(free.values).toEqual(['ready', 'still here']))
  free.unsubscribe()
})
