import { isAuthError } from '@sallyport/core'
import { authStore, keysVersion } from '@sallyport/core/internal/server'
import pg from 'pg'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { createIssuer } from '../../../core/test/support/create-issuer.ts'
import { subscribeToLease } from '../../src/server/session-leases.ts'
import { sharePostgres } from './databases.ts'
import { PATIENT } from './node-settings.ts'
import { openDatabase } from './open-database.ts'
import { type SignedIn, signIn } from './signed-in-users.ts'

const STREAMS = 1_000
/** A statement reads up to 256 sessions, but the first of a turn is sent before the others join it. */
const MAX_STATEMENTS = 40

test('1,000 streams whose sessions one commit deletes end, after few statements', async () => {
  const { url, query } = await sharePostgres(afterAll)
  const issuer = await createIssuer()
  const { config, key } = issuer
  const people = await signIn(url, STREAMS, { issuer })
  const { db, close } = await openDatabase(url, PATIENT)
  onTestFinished(close)
  const store = db[authStore]

  async function openStream({ sessionId, userId, version }: SignedIn): Promise<{ ended: Promise<unknown> }> {
    const revision = store.revocations.revision
    const session = await store.sessions.findSession({ sessionId, userId })
    if (session === null) throw new TypeError('A session of this test was not found')
    const proof = { version, issuer: config.issuer, keyId: key.kid, expiresAt: session.expiresAt }
    const read = { identity: { sessionId, userId, ...proof }, session, store, revision }
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const lease = subscribeToLease(
      { ...read, keysVersion: keysVersion(config), readAt: performance.now() },
      {
        emits: true,
        onSession() {},
        onError(error) {
          lease.end()
          resolve(isAuthError(error) && error.reason)
        },
      },
      config,
    )
    return { ended: promise }
  }

  const streams = await Promise.all(people.map(openStream))
  const sent = vi.spyOn(pg.Client.prototype, 'query')
  onTestFinished(() => sent.mockRestore())
  await query('delete from session')
  const reasons = await Promise.all(streams.map(({ ended }) => ended))
  expect(new Set(reasons)).toEqual(new Set(['SESSION_NOT_FOUND']))
  const lookups = sent.mock.calls.filter(([statement]) =>
    JSON.stringify(statement).includes('sallyport_lookup'),
  )
  expect(lookups.length).toBeGreaterThanOrEqual(STREAMS / 256)
  expect(lookups.length).toBeLessThanOrEqual(MAX_STATEMENTS)
})
