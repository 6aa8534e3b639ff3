import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { authenticate, validateSession, verifyJwt } from '@sallyport/core'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import Database from 'better-sqlite3'
import { alternate, type Comparison } from '../../../bench/compare.ts'
import { sessionSql } from '../src/database/find-session-sql.ts'
import { lookupStatement } from '../src/database/sqlite/find-session.ts'

const CALLS = 30_000
const TOGETHER = 32
/** Both steps cost at most 1.3 times the statement, so they reach this share of its rate, in percent. */
const GOAL = 100 / 1.3

/** Compares both steps, warm, with the bare statement on a separate connection to the same file. */
export async function bothSteps(): Promise<{ name: string; goal: number | null; comparison: Comparison }[]> {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
  const path = join(directory, 'bench.db')
  const auth = await createTestAuth({ databaseUrl: path })
  const { userId } = await auth.createUser()
  const signedIn: TestSession[] = []
  for (let i = 0; i < 1_000; i++) signedIn.push(await auth.signIn({ userId }))
  const { config } = auth
  // A separate handle, because the test kit wraps its store in a counter.
  const { sessions, close } = await openSqlite(path)
  const requests = signedIn.map((session) => ({
    ...session,
    request: { method: 'GET', header: (name: string) => (name === 'cookie' ? session.cookie : null) },
  }))

  const reader = new Database(path, { readonly: true })
  const statement = reader.prepare(lookupStatement(sessionSql('sqlite'))).raw()
  const bare = async (i: number) => statement.get(at(i).sessionId, at(i).userId)
  const steps = async (i: number) => validateSession(await verifyJwt(at(i).token, config), sessions, config)
  const whole = (i: number) => authenticate(at(i).request, 'query', { config, sessions })

  function at(i: number) {
    const request = requests[i % requests.length]
    if (request === undefined) throw new Error('No session')
    return request
  }

  const compare = (run: typeof oneAtATime, call: (i: number) => Promise<unknown>) =>
    alternate(
      () => run(call),
      () => run(bare),
    )
  const results = [
    { name: 'both steps, one at a time', goal: GOAL, comparison: await compare(oneAtATime, steps) },
    { name: 'both steps, 32 in a turn', goal: GOAL, comparison: await compare(together, steps) },
    {
      name: 'authenticate(request), one at a time',
      goal: null,
      comparison: await compare(oneAtATime, whole),
    },
    { name: 'authenticate(request), 32 in a turn', goal: null, comparison: await compare(together, whole) },
  ]
  reader.close()
  await close()
  await auth.close()
  rmSync(directory, { recursive: true })
  return results
}

/** Makes calls one after the other, and returns the rate. */
async function oneAtATime(call: (i: number) => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  for (let i = 0; i < CALLS; i++) await call(i)
  return (CALLS / (performance.now() - startedAt)) * 1_000
}

/** Makes 32 calls per turn of the event loop, as a busy server does, and returns the rate. */
async function together(call: (i: number) => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  for (let i = 0; i < CALLS; i += TOGETHER) {
    await Promise.all(Array.from({ length: TOGETHER }, (_, offset) => call(i + offset)))
    await nextTurn()
  }
  return (CALLS / (performance.now() - startedAt)) * 1_000
}
