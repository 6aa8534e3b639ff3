import { expect, test, vi } from 'vitest'
import { findRevoked, revokedBy } from '../../src/better-auth/revoked-by.ts'

const EVERYONE = { sessionId: null, userId: null }
const ada = { sessionId: null, userId: 'ada' }
const rows = (count: number) => Array.from({ length: count }, (_, i) => ({ id: `s${i}`, userId: 'ada' }))

test.each([
  ['sessions of a user', 'session', { field: 'userId', value: 'ada' }, [ada]],
  ['a user', 'user', { field: 'id', value: 'ada' }, [ada]],
  ['a user whose id is a number', 'user', { field: 'id', value: 7 }, [{ ...ada, userId: '7' }]],
  ['a member', 'member', { field: 'userId', value: 'ada' }, [ada]],
  ['a table without sessions', 'verification', { field: 'userId', value: 'ada' }, []],
])('a write that names %s is published without a read', async (_name, model, condition, revoked) => {
  const findMany = vi.fn(async () => rows(1))
  expect(await findRevoked({ findMany }, { model, where: [condition] })).toEqual(revoked)
  expect(findMany).not.toHaveBeenCalled()
})

test.each([
  ['another user or', { value: 'eve', connector: 'OR' as const }],
  ['all users but', { value: 'eve', operator: 'ne' as const }],
  ['several users', { value: ['eve', 'ada'], operator: 'in' as const }],
  ['no user', { value: null }],
])('a write that names %s is read first', async (_name, condition) => {
  const query = { model: 'session', where: [{ field: 'userId', ...condition }] }
  const findMany = async () => rows(1)
  expect(await findRevoked({ findMany }, query)).toEqual([{ sessionId: 's0', userId: 'ada' }])
})

test.each([
  ['as many rows as it reads', async () => rows(100)],
  ['something else', async () => null],
  ['an error', () => Promise.reject(new Error('no connection'))],
])('a read that returns %s concerns everyone', async (_name, findMany) => {
  const query = { model: 'session', where: [{ field: 'token', value: 'any' }] }
  expect(await findRevoked({ findMany }, query)).toEqual([EVERYONE])
})

test.each([
  ['session', [{ sessionId: 's0', userId: 'ada' }]],
  ['member', [ada]],
  ['organizationRole', [EVERYONE]],
  ['verification', []],
])('a changed row of the table %s', (model, revoked) => {
  expect(revokedBy({ model, where: [] }, [...rows(1), null])).toEqual(revoked)
})
