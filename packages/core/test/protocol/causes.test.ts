import { describe, expect, test } from 'vitest'
import { missesInternalTable } from '../../src/database/restore-tables.ts'
import { stateOf } from '../../src/database/sql-state.ts'
import { configurationFault } from '../../src/lifecycle/lock-session.ts'
import { errorAndCauses } from '../../src/protocol/causes.ts'
import { isConflict } from '../../src/session/conflict.ts'
import { requireReady } from '../../src/session/is-ready.ts'

const last = new Error('last')
const first = new Error('first', { cause: last })
const own = new Error('own')
own.cause = own
const cycle = new Error('outer', { cause: new Error('inner') })
if (cycle.cause instanceof Error) cycle.cause.cause = cycle

test.each([
  ['an error with a cause', first, [first, last]],
  ['an error that is its own cause', own, [own]],
  ['a cycle of causes', cycle, [cycle, cycle.cause]],
  ['a cause that is no error', new Error('last', { cause: 'text' }), [new Error('last')]],
  ['no error', 'text', []],
])('errorAndCauses of %s', (_name, error, expected) => {
  expect(errorAndCauses(error)).toEqual(expected)
})

describe.each([
  ['an error that is its own cause', own],
  ['a cycle of causes', cycle],
])('for %s', (_name, error) => {
  test('every search of the causes ends', async () => {
    expect(isConflict(error)).toBe(false)
    expect(stateOf(error)).toBeNull()
    expect(missesInternalTable(error, { engine: 'sqlite', schema: 'sallyport' })).toBe(false)
    expect(configurationFault(error)).toBeNull()
    await expect(requireReady([() => Promise.reject(error)])).rejects.toMatchObject({ cause: error })
  })
})
