import type { StoredSession } from '@sallyport/core'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { toSessionJson } from '../../src/runtime/functions/internal-router.ts'
import { fromSessionJson } from '../../src/runtime/http-adapter.ts'

const auth = await createTestAuth()
const { sessionId, userId } = await auth.signIn()
const session = (await auth.database.sessions.findSession({ sessionId, userId })) ?? expect.fail()
afterAll(() => auth.close())

const crossed = (sent: StoredSession): StoredSession =>
  fromSessionJson(JSON.parse(JSON.stringify(toSessionJson(sent))))
const banned = (until: Date | null): StoredSession => ({ ...session, ban: { until } })

test.each<[string, StoredSession]>([
  ['a session', session],
  ['one with added columns', { ...session, ...{ theme: 'dark', toured: true, at: null } }],
  ['a user with a permanent ban', banned(null)],
  ['a user with a temporary ban', banned(new Date(0))],
])('%s survives the round trip', (_what, sent) => {
  expect(crossed(sent)).toEqual(sent)
})

test('an invalid date stays invalid, so it is treated as passed', () => {
  const unreadable = new Date(Number.NaN)
  const arrived = crossed({ ...banned(unreadable), expiresAt: unreadable })
  expect(arrived.expiresAt.getTime()).toBeNaN()
  expect(arrived.ban?.until?.getTime()).toBeNaN()
})

describe('rejects a session that is', () => {
  test.each<[string, unknown]>([
    ['null', null],
    ['a string', 'session'],
    ['without a date', { ...toSessionJson(session), expiresAt: undefined }],
    ['with a number as its date', { ...toSessionJson(session), expiresAt: 0 }],
    ['without a user', { ...toSessionJson(session), user: null }],
    ['with the ban of a user as a number', { ...toSessionJson(session), ban: { until: 0 } }],
    ['without a ban', { ...toSessionJson(session), ban: undefined }],
  ])('%s', (_what, json) => {
    expect(() => fromSessionJson(json)).toThrow(TypeError)
  })
})
