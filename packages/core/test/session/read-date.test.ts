import { validateSession } from '@sallyport/core'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readDate } from '../../src/session/read-date.ts'
import { isFresh } from '../../src/session/session.ts'
import { sessionOf } from '../../src/session/session-row.ts'
import { reasonOf } from '../support/reason-of.ts'
import { OURS } from '../support/stored-sessions.ts'

const { config, close } = await createTestAuth()
afterAll(close)

const NOON = '2026-11-21T12:00:00.000Z'
const KEY = { sessionId: 's1', userId: 'u1', ...OURS }

describe.each(['America/Los_Angeles', 'Pacific/Kiritimati'])('in the time zone %s', (zone) => {
  const before = process.env.TZ
  beforeAll(() => {
    process.env.TZ = zone
  })
  afterAll(() => {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  })

  test.each([
    '2026-11-21T12:00:00.000Z',
    '2026-11-21 12:00:00.000Z',
    '2026-11-21T12:00:00Z',
    '2026-11-21 12:00:00',
    '2026-11-21 12:00',
    '2026-11-21T12:00:00.000',
    '2026-11-21 12:00:00.000000',
    '2026-11-21 12:00:00+00',
    '2026-11-21 12:00:00.000 +00:00',
    '2026-11-21T14:00:00+02:00',
    Date.parse(NOON),
    new Date(NOON),
  ])('%s is noon in UTC', (value) => {
    expect(readDate(value).toISOString()).toBe(NOON)
  })

  const read = (values: Partial<Record<'expiresAt' | 'lastAuthenticatedAt' | 'banExpires', unknown>>) => {
    const { expiresAt = '2026-11-22 12:00:00', lastAuthenticatedAt = null, banExpires } = values
    const banned = banExpires !== undefined
    const user = ['Ada', 'ada@example.com', 'user', banned, banExpires ?? null]
    return sessionOf(KEY, [expiresAt, lastAuthenticatedAt, 1, null, null, null, null, ...user] as never)
  }
  const at = (time: string) => ({ ...config, now: () => new Date(time) })
  const validate = (values: Parameters<typeof read>[0], time: string) =>
    reasonOf(validateSession(KEY, { findSession: () => read(values) }, at(time)))

  test('a session ends, a ban lasts, and a proof is fresh by UTC', async () => {
    const expiresAt = '2026-11-21 12:00:00'
    expect(await validate({ expiresAt }, '2026-11-21T11:59:59Z')).toBe('accepted')
    expect(await validate({ expiresAt }, '2026-11-21T12:00:00Z')).toBe('SESSION_EXPIRED')
    const banExpires = '2026-11-21 12:00:00'
    expect(await validate({ banExpires }, '2026-11-21T11:59:59Z')).toBe('ACCOUNT_BANNED')
    expect(await validate({ banExpires }, '2026-11-21T12:00:00Z')).toBe('accepted')
    const session = read({ lastAuthenticatedAt: '2026-11-21 12:00:00' })
    const isFreshAt = (time: string) => isFresh(session, { maxAgeSeconds: 60, now: new Date(time) })
    expect([isFreshAt('2026-11-21T12:01:00Z'), isFreshAt('2026-11-21T12:01:01Z')]).toEqual([true, false])
  })
})

test('an impersonated session is never fresh, and an unreadable date is not either', () => {
  const freshness = { maxAgeSeconds: Number.POSITIVE_INFINITY, now: new Date(NOON) }
  const isFreshWith = (columns: object) => isFresh({ lastAuthenticatedAt: NOON, ...columns }, freshness)
  expect([isFreshWith({}), isFreshWith({ impersonatedBy: null })]).toEqual([true, true])
  expect(isFreshWith({ impersonatedBy: 'admin' })).toBe(false)
  expect(isFreshWith({ lastAuthenticatedAt: '' })).toBe(false)
})

test.each([
  ['seconds that are read as milliseconds', Date.parse(NOON) / 1000],
  ['milliseconds that are read as seconds', Date.parse(NOON) * 1000],
  ['infinity', Number.POSITIVE_INFINITY],
  ['a millisecond before 2000', Date.UTC(2000, 0) - 1],
  ['the first year of five digits', Date.UTC(10_000, 0)],
  ['text with a year', 'not before 2099'],
  ['text with a date', 'not before 2099-01-01'],
  ['a number as text', '20990101'],
  ['an empty text', ''],
  ['nothing', null],
  ['a boolean', true],
  ['a list with a date', [NOON]],
])('%s is an invalid date', (_name, value) => {
  expect(readDate(value).getTime()).toBeNaN()
})

test.each([Date.UTC(2000, 0), Date.UTC(10_000, 0) - 1])('%i is a date in milliseconds', (value) => {
  expect(readDate(value).getTime()).toBe(value)
})

test('no two reads share a date, so a call that changes one changes no other', () => {
  const own = [NOON, NOON, 1, null, null, null, null] as const
  const read = () => sessionOf(KEY, [...own, 'Ada', 'ada@example.com', 'user', 0, null])
  read().expiresAt.setTime(0)
  expect(read().expiresAt).toEqual(new Date(NOON))
})
