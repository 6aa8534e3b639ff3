import { consumeToken } from '@sallyport/core/internal/server'
import { describe, expect, test } from 'vitest'
import { databaseKinds } from '../support/database-kinds.ts'
import { reasonOf } from '../support/reason-of.ts'

const expiresAt = new Date('2026-11-21T10:00:30.000Z')
const newToken = () => ({ service: 'edge', id: crypto.randomUUID(), expiresAt })

describe.each(await databaseKinds())('in $name', ({ create }) => {
  test('a token is accepted once, on any node and after any restart', async () => {
    const database = await create()
    const [first, second] = [await database.open(), await database.open()]
    const token = newToken()
    expect(await consumeToken(first.db, token)).toBe(true)
    expect(await consumeToken(first.db, token)).toBe(false)
    expect(await consumeToken(second.db, token)).toBe(false)
    await Promise.all([first.close(), second.close()])
    const restarted = await database.open()
    expect(await consumeToken(restarted.db, token)).toBe(false)
    expect(await consumeToken(restarted.db, newToken())).toBe(true)
  })

  test('a token of another service with the same id is a different token', async () => {
    const { db } = await (await create()).open()
    const token = newToken()
    expect(await consumeToken(db, token)).toBe(true)
    expect(await consumeToken(db, { ...token, service: 'reports' })).toBe(true)
    expect(await consumeToken(db, token)).toBe(false)
  })

  test('accepts one of many concurrent attempts', async () => {
    const database = await create()
    const nodes = [await database.open(), await database.open()]
    for (let round = 0; round < 5; round++) {
      const token = newToken()
      const consumed = await Promise.all(
        Array.from({ length: 10 }, (_, i) => consumeToken((nodes[i % 2] ?? expect.fail()).db, token)),
      )
      expect(consumed.filter(Boolean)).toHaveLength(1)
    }
  })

  test('a token is remembered for ten minutes after it expires', async () => {
    const { db } = await (await create()).open()
    const token = newToken()
    await consumeToken(db, token)
    const [row] = await db.selectFrom('sallyport.service_token').selectAll().execute()
    expect({ id: row?.id, expiresAt: new Date(row?.expiresAt ?? 0) }).toEqual({
      id: JSON.stringify(['edge', token.id]),
      expiresAt: new Date('2026-11-21T10:10:30.000Z'),
    })
  })

  test('throws without a database', async () => {
    const { db, close } = await (await create()).open()
    await close()
    expect(await reasonOf(consumeToken(db, newToken()))).toBe('SESSIONS_UNAVAILABLE')
  })
})
