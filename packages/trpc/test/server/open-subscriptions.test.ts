import { describe, expect, test } from 'vitest'
import { OpenSubscriptions } from '../../src/server/open-subscriptions.ts'

const call = (id: unknown, method = 'subscription') =>
  Buffer.from(JSON.stringify({ id, method, params: { path: 'clock' } }))
const started = (id: unknown) => JSON.stringify({ id, result: { type: 'started' } })
const stopped = (id: unknown) => JSON.stringify({ id, result: { type: 'stopped' } })
const failed = (id: unknown) => JSON.stringify({ id, error: { message: 'no' } })

describe('subscriptions of a socket', () => {
  test.each([
    { how: 'stopped', end: stopped },
    { how: 'failed', end: failed },
  ])('one that has $how makes place for another', ({ end }) => {
    const subscriptions = new OpenSubscriptions(2, () => {})
    for (const id of [1, 'two']) {
      expect(subscriptions.receive(call(id))).toBe(true)
      expect(subscriptions.send(started(id))).toBe(true)
    }
    expect(subscriptions.send(end('two'))).toBe(true)
    for (const [id, isAllowed] of [
      [3, true],
      [4, false],
    ] as const) {
      expect(subscriptions.receive(call(id))).toBe(true)
      expect(subscriptions.send(started(id))).toBe(isAllowed)
    }
  })

  test('an id that is open already is rejected, also in JSON with escapes', () => {
    const subscriptions = new OpenSubscriptions(100, () => {})
    expect(subscriptions.receive(call(1))).toBe(true)
    expect(subscriptions.receive(call(1))).toBe(false)
    expect(
      subscriptions.receive(Buffer.from(String.raw`{"id":1,"method":"\u0073ubscriptio\u006e","params":{}}`)),
    ).toBe(false)
  })

  test('those that never start are limited, too', () => {
    const subscriptions = new OpenSubscriptions(3, () => {})
    for (let id = 1; id <= 6; id++) expect(subscriptions.receive(call(id))).toBe(true)
    expect(subscriptions.receive(call(7))).toBe(false)
  })

  test('other calls and broken frames pass', () => {
    const subscriptions = new OpenSubscriptions(1, () => {})
    for (const frame of [call(1, 'query'), call(1, 'subscription.stop'), Buffer.from('{"subscription')])
      expect(subscriptions.receive(frame)).toBe(true)
    expect(subscriptions.send(started(9))).toBe(true)
  })

  test('an error ends the subscription with that id, whichever call it is of', () => {
    const stops: unknown[] = []
    const subscriptions = new OpenSubscriptions(2, (id) => stops.push(id))
    subscriptions.receive(call(1))
    subscriptions.send(failed(1))
    expect(stops).toEqual([])
    subscriptions.receive(call(1))
    subscriptions.send(started(1))
    subscriptions.send(failed(1))
    expect(stops).toEqual([1])
  })

  test('a guarded one holds its place until it starts', () => {
    const subscriptions = new OpenSubscriptions(2, () => {})
    const release = subscriptions.reserve()
    expect(release).not.toBeNull()
    subscriptions.receive(call(1))
    subscriptions.send(started(1))
    expect(subscriptions.reserve()).toBeNull()
    release?.()
    release?.()
    expect(subscriptions.reserve()).not.toBeNull()
    expect(subscriptions.reserve()).toBeNull()
  })
})
