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
  ['one with columns that a definition adds', { ...session, ...{ theme: 'dark', toured: true, at: null } }],
  ['a user who is banned for ever', banned(null)],
  ['a user who is banned for a while', banned(new Date(0))],
])('%s arrives as it was sent', (_what, sent) => {
  expect(crossed(sent)).toEqual(sent)
})

test('a date that cannot be read stays one, so that it counts as passed', () => {
  const unreadable = new Date(Number.NaN)
  const arrived = crossed({ ...banned(unreadable), expiresAt: unreadable })
  expect(arrived.expiresAt.getTime()).toBeNaN()
  expect(arrived.ban?.until?.getTime()).toBeNaN()
})

describe('no session is', () => {
  test.each<[string, unknown]>([
    ['null', null],
    ['a text', 'session'],
    ['without a date', { ...toSessionJson(session), expiresAt: undefined }],
    ['with a number as its date', { ...toSessionJson(session), expiresAt: 0 }],
    ['without a user', { ...toSessionJson(session), user: null }],
    ['with the ban of a user as a number', { ...toSessionJson(session), ban: { until: 0 } }],
    ['without a ban', { ...toSessionJson(session), ban: undefined }],
  ])('what is %s', (_what, json) => {
    expect(() => fromSessionJson(json)).toThrow(TypeError)
  })
})
