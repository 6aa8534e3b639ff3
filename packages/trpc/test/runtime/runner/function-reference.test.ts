import { inspect } from 'node:util'
import { functionsOf } from '@sallyport/trpc/action'
import { initTRPC } from '@trpc/server'
import { describe, expect, test } from 'vitest'
import { functionPath } from '../../../src/runtime/runner/function-reference.ts'

const t = initTRPC.create()
const router = t.router({ report: t.router({ list: t.procedure.query(() => []) }) })
const internal = functionsOf<typeof router>()

test('a reference knows its path, and nothing of the function', () => {
  expect(internal.report.list[functionPath]).toBe('report.list')
})

describe('it is a plain value:', () => {
  test('awaiting it gives itself', async () => {
    expect(await internal.report.list).toMatchObject({ [functionPath]: 'report.list' })
  })

  test('it can be printed', () => {
    expect(inspect(internal.report.list)).toContain('{}')
  })

  test('it cannot be changed', () => {
    expect(() => Object.assign(internal.report, { list: 1 })).toThrow(TypeError)
  })
})
