import { expect, test } from 'vitest'
import {
  addedLists,
  addValues,
  decodeColumn,
  NO_COLUMNS,
  storedColumns,
} from '../../src/session/added-columns.ts'

test.each([
  [true, true],
  [1, true],
  [1n, true],
  ['1', true],
  ['true', true],
  [false, false],
  [0, false],
  [0n, false],
  ['0', false],
  ['false', false],
  [null, null],
  ['', null],
  ['no', null],
  ['constructor', null],
  [2, null],
])('a flag that a driver reads as %o is %s', (value, flag) => {
  expect(decodeColumn(value, 'flag')).toBe(flag)
})

test.each([
  ['date', '2026-01-02T03:04:05.000Z', new Date('2026-01-02T03:04:05.000Z')],
  ['date', -100_000, new Date(-100_000)],
  ['date', '2026-01-02 03:04:05', new Date('2026-01-02T03:04:05.000Z')],
  ['date', 'soon', null],
  ['timestamp', '2026-01-02 03:04:05', '2026-01-02T03:04:05.000Z'],
  ['timestamp', Date.UTC(2026, 0), '2026-01-01T00:00:00.000Z'],
  // Seconds, which aren't a date of sessions.
  ['timestamp', 1_767_225_600, null],
  ['timestamp', 'soon', null],
  ['number', 7, 7],
  ['number', true, true],
  ['number', '2026-01-02', '2026-01-02'],
  ['text', '2026-01-02', '2026-01-02'],
  ['text', true, true],
  ['text', null, null],
  ['json', null, null],
  ['timestamp', null, null],
  ['date', null, null],
  ['json', { a: 1 }, { a: 1 }],
  ['json', '{"a":[1]}', { a: [1] }],
  ['json', '"text"', 'text'],
  ['json', '"a [b]"', 'a [b]'],
  ['json', '"7"', '7'],
  ['json', '7', 7],
  ['json', '"[broken"', '[broken'],
  ['json', '["[1]"]', ['[1]']],
  ['json', '"[\\"a\\"]"', ['a']],
  ['json', '{', null],
] as const)('a column of type %s that a driver reads as %o is %o', (type, value, decoded) => {
  expect(decodeColumn(value, type)).toEqual(decoded)
})

test('a column without a type is text', () => {
  expect(decodeColumn('2026-01-02')).toBe('2026-01-02')
  expect(decodeColumn(true)).toBe(true)
})

const teams = { type: 'text', from: { table: 'team', column: 'name', where: { id: 'teamId' } } } as const
const columns = {
  user: { score: { type: 'number' } },
  session: { teamId: { type: 'text', from: teams.from }, theme: { type: 'text' }, team: teams },
} as const

test('the tables have a foreign column only if a condition names it', () => {
  expect(storedColumns(columns)).toEqual({
    user: columns.user,
    session: { teamId: columns.session.teamId, theme: columns.session.theme },
  })
})

test('added columns are selected in order, those of the session first', () => {
  expect(addedLists(columns)).toEqual({
    session: [
      ['teamId', 'text'],
      ['theme', 'text'],
      ['team', 'text'],
    ],
    user: [['score', 'number']],
  })
  expect(addedLists({ user: columns.user, session: {} })).toMatchObject({ session: [] })
  const both = { user: columns.user, session: { theme: columns.session.theme } }
  expect(addedLists(both)).not.toBeNull()
  expect(addedLists(NO_COLUMNS)).toBeNull()
})

test('added columns come from their places, and a missing one is null', () => {
  const target = { id: 's1' }
  const list = [
    ['id', 'text'],
    ['c', 'flag'],
    ['d', 'text'],
    ['e', 'text'],
  ] as const
  addValues(target, list, { values: ['skipped', 's2', 1, 'x'], from: 1 })
  expect(target).toEqual({ id: 's1', c: true, d: 'x', e: null })
})
