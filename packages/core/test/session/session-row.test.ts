import { expect, test } from 'vitest'
import { sessionOf, toSession } from '../../src/session/session-row.ts'

const KEY = { sessionId: 's1', userId: 'u1' }
const NOON = '2026-11-21T12:00:00.000Z'
const EPOCH = '1970-01-01T00:00:00.000Z'
const PROOF = { lastAuthenticatedAt: NOON, amr: '{"pwd":1}', acr: 'silver' }
const SESSION = { ...PROOF, expiresAt: NOON, version: 1, rotatedAt: null, issuer: null }
const USER = { name: 'Ada', email: 'ada@example.com', role: 'admin', banned: false, banExpires: null }

const read = (session: object, user: object = {}) =>
  toSession(KEY, { session: { ...SESSION, ...session }, user: { ...USER, ...user } }, null)

test('a session has the values of its rows, and no others', () => {
  expect(read({ token: 'sha256:00' }, { password: 'x' })).toEqual({
    id: 's1',
    userId: 'u1',
    expiresAt: new Date(NOON),
    lastAuthenticatedAt: NOON,
    version: 1,
    rotatedAt: null,
    issuer: null,
    amr: '{"pwd":1}',
    acr: 'silver',
    user: { id: 'u1', name: 'Ada', email: 'ada@example.com', role: 'admin' },
    ban: null,
  })
})

test('a missing name or email is empty, and a missing role is that of a user', () => {
  const { user } = read({}, { name: null, email: null, role: null })
  expect(user).toEqual({ id: 'u1', name: '', email: '', role: 'user' })
})

test.each([
  ['false', false, null, null],
  ['0', 0, null, null],
  ['0 as a bigint', 0n, null, null],
  ['null', null, null, null],
  ['true', true, null, { until: null }],
  ['1', 1, null, { until: null }],
  ['a text', 'f', null, { until: null }],
  ['absent', undefined, null, { until: null }],
  ['true, until a date', true, NOON, { until: new Date(NOON) }],
  ['true, until a bigint', true, BigInt(Date.parse(NOON)), { until: new Date(NOON) }],
  ['true, until an unreadable date', true, 'soon', { until: new Date(Number.NaN) }],
  ['false, until a date', false, NOON, null],
])('a user whose column for bans is %s', (_name, banned, banExpires, ban) => {
  expect(read({}, { banned, banExpires }).ban).toEqual(ban)
})

test.each([
  ['ISO 8601', NOON, NOON],
  ['ISO 8601 in UTC, as it is stored', '2026-11-21T12:00Z', '2026-11-21T12:00Z'],
  ['a missing zone', '2026-11-21 12:00:00', NOON],
  ['another zone', '2026-11-21T14:00:00+02:00', NOON],
  ['another zone that begins with Z', 'Z 2026', ''],
  ['a number', Date.parse(NOON), NOON],
  ['a bigint', BigInt(Date.parse(NOON)), NOON],
  ['a date', new Date(NOON), NOON],
  ['nothing', null, EPOCH],
  ['an unreadable text', 'soon', ''],
])('the date of a proof, stored as %s', (_name, lastAuthenticatedAt, iso) => {
  expect(read({ lastAuthenticatedAt }).lastAuthenticatedAt).toBe(iso)
})

test('an unreadable expiry is an invalid date, which never lies ahead', () => {
  expect(read({ expiresAt: null }).expiresAt).toEqual(new Date(Number.NaN))
})

test('a rotation has its date', () => {
  expect(read({ rotatedAt: '2026-11-21 12:00:00' }).rotatedAt).toBe(NOON)
})

const added = {
  session: [
    ['team', 'text'],
    ['version', 'number'],
  ],
  user: [
    ['score', 'number'],
    ['role', 'text'],
  ],
} as const

test('added columns follow the own ones, and never replace them', () => {
  const session = toSession(KEY, { session: { ...SESSION, team: 't1' }, user: { ...USER, score: 7n } }, added)
  expect(session).toMatchObject({ team: 't1', version: 1, user: { score: 7, role: 'admin' } })
  const own = [NOON, NOON, 1, null, null, '{"pwd":1}', 'silver'] as const
  const values = [...own, 'Ada', 'ada@example.com', 'admin', 0, null] as const
  expect(sessionOf(KEY, [...values, 't1', 2, 7, 'owner'], added)).toEqual(session)
})
