/**
 * Measures the cost of ten thousand streams, whose sessions are read again before each lease ends. Prints the
 * longest turn of the event loop in processor time without leases, with leases, and while all are checked at
 * once; the memory of a stream; and the time until all have ended after one commit.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { authStore, keysVersion } from '@sallyport/core/internal/server'
import { openPostgres } from '@sallyport/core/postgres'
import { openSqlite } from '@sallyport/core/sqlite'
import { createIssuer } from '../../core/test/support/create-issuer.ts'
import { startPostgres } from '../../core/test/support/embedded-postgres.ts'
import { CallLease } from '../src/server/call-lease.ts'
import type { AppDatabase } from '../test/revocation/open-database.ts'
import { signIn } from '../test/revocation/signed-in-users.ts'
import { revokeStreams } from './revoke-streams.ts'
import { watchTurns } from './watch-turns.ts'

const STREAMS = Number(process.env.STREAMS ?? 10_000)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 7)

console.log(
  `${STREAMS} streams, ${SECONDS} s each; turns of the event loop in ms of processor time, reads of sessions, memory`,
)
await measureSqlite()
await measurePostgres()

async function measureSqlite(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
  const url = `file:${join(directory, 'bench.db')}`
  await measure('SQLite', url, await openSqlite(url))
  rmSync(directory, { recursive: true })
}

async function measurePostgres(): Promise<void> {
  const server = await startPostgres()
  const url = await server.createDatabase('bench')
  await measure('PostgreSQL', url, await openPostgres(url))
  await server.stop()
}

async function measure(name: string, url: string, { db, close }: AppDatabase): Promise<void> {
  const issuer = await createIssuer()
  const { config, key: signingKey } = issuer
  const people = await signIn(url, STREAMS, { issuer })
  const store = db[authStore]
  let lookups = 0
  const counted = {
    ...store,
    sessions: {
      findSession: (key: { sessionId: string; userId: string }) => {
        lookups++
        return store.sessions.findSession(key)
      },
    },
  }
  const reads = []
  for (const { sessionId, userId } of people) {
    const session = await store.sessions.findSession({ sessionId, userId })
    if (session === null) throw new Error('A session of this bench was not found')
    const { version, expiresAt } = session
    const proof = { version, issuer: config.issuer, keyId: signingKey.kid, expiresAt }
    reads.push({ identity: { sessionId, userId, ...proof }, session })
  }
  await report(`${name}, nothing leased`, () => lookups)

  const before = heapBytes()
  const leases = reads.map((read) => {
    const { revision } = store.revocations
    const current = { store: counted, revision, keysVersion: keysVersion(config), readAt: performance.now() }
    const options = { outer: {}, config, path: 'bench', callers: [], isResumable: true, isOver: false }
    const lease = new CallLease({ ...read, ...current }, options)
    lease.openStream()
    return lease
  })
  console.log(`${name}, memory: ${((heapBytes() - before) / STREAMS / 1024).toFixed(1)} KB a stream`)
  await report(`${name}, all leased`, () => lookups)
  store.revocations.publish({ sessionId: null, userId: null })
  await report(`${name}, all checked at once`, () => lookups)
  const ended = leases.filter(({ signal }) => signal.aborted).length
  if (ended > 0) throw new Error(`${ended} streams have ended`)
  for (const lease of leases) lease.end()

  await revokeStreams(name, { place: 'this process', people, url, db, config })
  const others = await signIn(url, STREAMS, { issuer })
  await revokeStreams(name, { place: 'another process', people: others, url, db, config })
  await close()
}

async function report(what: string, reads: () => number): Promise<void> {
  const readsBefore = reads()
  globalThis.gc?.()
  const stopWatching = watchTurns()
  await sleep(SECONDS * 1_000)
  const { longest, above10 } = stopWatching()
  console.log(
    `${what}: longest ${longest.toFixed(1)}, above 10 ms ${above10}; ${reads() - readsBefore} reads`,
  )
}

function heapBytes(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}
