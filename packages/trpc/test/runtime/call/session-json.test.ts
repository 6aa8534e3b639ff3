import type { Session } from '@sallyport/core'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { fromSessionJson, toSessionJson } from '../../../src/runtime/call/session-json.ts'

const auth = await createTestAuth()
const { sessionId, userId } = await auth.signIn()
const session = (await auth.database.sessions.findSession({ sessionId, userId })) ?? expect.fail()
afterAll(() => auth.close())

const crossed = (sent: Session): Session => fromSessionJson(JSON.parse(JSON.stringify(toSessionJson(sent))))
const withUser = (changes: Partial<Session['user']>) => ({
  ...session,
  user: { ...session.user, ...changes },
})

test.each<[string, Session]>([
  ['a session', session],
  ['one with columns that a definition adds', { ...session, ...{ theme: 'dark', toured: true, at: null } }],
  ['a user who is banned for ever', withUser({ banned: true, banReason: 'spam' })],
  ['a user who is banned for a while', withUser({ banned: true, banExpires: new Date(0) })],
])('%s arrives as it was sent', (_what, sent) => {
  expect(crossed(sent)).toEqual(sent)
})

test('a date that cannot be read stays one, so that it counts as passed', () => {
  const unreadable = new Date(Number.NaN)
  const arrived = crossed({ ...withUser({ banned: true, banExpires: unreadable }), expiresAt: unreadable })
  expect(arrived.expiresAt.getTime()).toBeNaN()
  expect(arrived.user.banExpires?.getTime()).toBeNaN()
})

describe('no session is', () => {
  test.each<[string, unknown]>([
    ['null', null],
    ['a text', 'session'],
    ['without a date', { ...toSessionJson(session), expiresAt: undefined }],
    ['with a number as its date', { ...toSessionJson(session), expiresAt: 0 }],
    ['without a user', { ...toSessionJson(session), user: null }],
    ['with the ban of a user as a number', { ...toSessionJson(session), user: { banExpires: 0 } }],
    ['with the ban of a user left out', { ...toSessionJson(session), user: {} }],
  ])('what is %s', (_what, json) => {
    expect(() => fromSessionJson(json)).toThrow(TypeError)
  })
})
