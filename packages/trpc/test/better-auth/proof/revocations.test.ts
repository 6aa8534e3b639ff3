// After a revocation by Better Auth resolved, no path accepts a call, and both streams end with the reason.
import { expect, onTestFinished, test } from 'vitest'
import { testPostgres } from '../../../../core/test/support/postgres.ts'
import { openSocket, PATHS, watchOverEvents } from './ask.ts'
import { openProofApp, type ProofApp } from './open-app.ts'
import { credentialsOf, type Person, signIn, signUp, signUpAdmin } from './person.ts'

/** `pnpm test:better-auth` revokes 1,000 sessions on each database. */
const REVOCATIONS = Number(process.env.BETTER_AUTH_REVOCATIONS ?? 12)
const isLong = REVOCATIONS > 12
const postgres = isLong ? await testPostgres() : null

interface Method {
  readonly name: string
  readonly reason: string
  revoke(person: Person, others: { admin: Person; elsewhere: Person }): Promise<unknown>
}

const METHODS: readonly Method[] = [
  {
    name: 'signOut',
    reason: 'SESSION_NOT_FOUND',
    revoke: ({ page }) => page.post('/sign-out'),
  },
  {
    name: 'revokeSession',
    reason: 'SESSION_NOT_FOUND',
    revoke: ({ token }, { elsewhere }) => elsewhere.page.post('/revoke-session', { token }),
  },
  {
    name: 'revokeOtherSessions',
    reason: 'SESSION_NOT_FOUND',
    revoke: (_, { elsewhere }) => elsewhere.page.post('/revoke-other-sessions'),
  },
  {
    name: 'admin.revokeUserSession',
    reason: 'SESSION_NOT_FOUND',
    revoke: ({ token }, { admin }) => admin.page.post('/admin/revoke-user-session', { sessionToken: token }),
  },
  {
    name: 'admin.banUser',
    reason: 'ACCOUNT_BANNED',
    revoke: ({ userId }, { admin }) => admin.page.post('/admin/ban-user', { userId }),
  },
  {
    name: 'deleteUser',
    reason: 'SESSION_NOT_FOUND',
    revoke: (_, { elsewhere }) => elsewhere.page.post('/delete-user'),
  },
]

test.for(isLong ? [null, postgres] : [null])(
  `${REVOCATIONS} revocations by six methods of Better Auth: no call is accepted afterwards`,
  {
    timeout: 1_200_000,
  },
  async (database) => {
    const app = await openProofApp(database)
    onTestFinished(() => app.close())
    const admin = await signUpAdmin(app)
    const counts: Record<string, number> = { calls: 0, streams: 0 }
    const wrong: unknown[] = []

    async function revokeOne(number: number): Promise<void> {
      const method = METHODS[number % METHODS.length]
      if (method === undefined) return
      const { name, reason } = method
      const person = await signUp(app)
      const elsewhere = await signIn(app, person.email)
      const { page: headers = {} } = credentialsOf(person.page)
      const socket = await openSocket(app, headers)
      const streams = [await watchOverEvents(app, headers), socket.watch()]
      const isOpen = await Promise.all(streams.map(({ first }) => first))
      const load = callUntilRejected(app, headers)
      if ((await method.revoke(person, { admin, elsewhere })) === null) wrong.push({ name, rejected: true })

      const asked = [...Object.values(PATHS).map((ask) => ask(app, headers)), socket.ask()]
      for (const answer of await Promise.all(asked)) {
        counts.calls = (counts.calls ?? 0) + 1
        if (answer.replace(/^closed 4403 /, '') !== reason) wrong.push({ name, answer })
      }
      for (const ended of await Promise.all(streams.map(({ ended }) => ended))) {
        counts.streams = (counts.streams ?? 0) + 1
        if (ended.replace(/^closed 4403 /, '') !== reason) wrong.push({ name, ended, isOpen })
      }
      const last = await load
      if (last !== reason) wrong.push({ name, last })
      socket.close()
    }

    // Several at a time.
    for (let number = 0; number < REVOCATIONS; number += METHODS.length) {
      const wave = Math.min(METHODS.length, REVOCATIONS - number)
      await Promise.all(Array.from({ length: wave }, (_, index) => revokeOne(number + index)))
    }
    console.log(`${REVOCATIONS} revocations:`, JSON.stringify({ ...counts, wrong: wrong.length }))
    expect(wrong).toEqual([])
  },
)

/** Calls without a pause, also while the session is revoked. Resolves to the first rejection. */
async function callUntilRejected(app: ProofApp, headers: Readonly<Record<string, string>>): Promise<string> {
  for (;;) {
    const answer = await PATHS.HTTP?.(app, headers)
    if (answer === undefined || !answer.includes('/')) return String(answer)
  }
}
