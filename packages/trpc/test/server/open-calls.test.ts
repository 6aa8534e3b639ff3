import { describe, expect, test } from 'vitest'
import { OpenCalls } from '../../src/server/open-calls.ts'

const LIMIT = 2

function open() {
  const stopped: unknown[] = []
  const calls = new OpenCalls(LIMIT, { stop: (id) => void stopped.push(id) })
  const receive = (text: string) => calls.receive(Buffer.from(text))
  const subscribe = (id: unknown) => receive(JSON.stringify({ id, method: 'subscription' }))
  const answer = (id: unknown, type: string) => calls.send(JSON.stringify({ id, result: { type } }))
  const fail = (id: unknown) => calls.send(JSON.stringify({ id, error: {} }))
  const start = (id: unknown) => subscribe(id) && answer(id, 'started')
  return { calls, stopped, receive, subscribe, start, answer, fail }
}

describe('a query or a mutation', () => {
  test.each([
    ['in the frame of a client', '{"id":1,"method":"query","params":{}}', 1],
    ['with the id zero', '{"id":0,"method":"query"}', 0],
    ['with an id of two digits', '{"id":10,"method":"query"}', 10],
    ['with an id of three digits', '{"id":123,"method":"mutation"}', 123],
    ['with the version of JSON-RPC', '{"id":1,"jsonrpc":"2.0","method":"mutation"}', 1],
    ['with its members in another order', '{"method":"query","id":7}', 7],
    ['with spaces', '{ "id": 7, "method": "mutation" }', 7],
    ['with the name of a subscription', '{"id":7,"method":"query","params":{"path":"subscription"}}', 7],
    ['with an escape', String.raw`{"id":7,"method":"query","params":{"path":"\n"}}`, 7],
    ['with a text as its id', '{"id":"a","method":"query"}', 'a'],
    ['with a quote in its id', String.raw`{"id":"a\"b","method":"query"}`, 'a"b'],
    ['with a fraction as its id', '{"id":1.5,"method":"query"}', 1.5],
    ['with a negative id', '{"id":-1,"method":"query"}', -1],
    ['with an id of 63 characters', `{"id":"${'a'.repeat(63)}","method":"query"}`, 'a'.repeat(63)],
  ])('%s waits until it succeeds or fails', (_name, frame, id) => {
    for (const end of ['answer', 'fail'] as const) {
      const { calls, receive, ...server } = open()
      expect([calls.isWaiting, calls.isOpen]).toEqual([false, false])
      expect(receive(frame)).toBe(true)
      expect([calls.isWaiting, calls.isOpen]).toEqual([true, true])
      expect(server[end](id, 'data')).toBe(true)
      expect([calls.isWaiting, calls.isOpen]).toEqual([false, false])
    }
  })

  test.each([
    ['a ping', 'PING'],
    ['text that is not JSON', '{"id":1,"method":"query'],
    ['no call', 'null'],
    ['another method', '{"id":1,"method":"subscription.stop"}'],
    ['a number with a leading zero', '{"id":01,"method":"query"}'],
    ['a number with a letter', '{"id":1a,"method":"query"}'],
    ['an id of 64 characters', `{"id":"${'a'.repeat(64)}","method":"query"}`],
    ['an id that is no number or text', '{"id":[1],"method":"query"}'],
    ['a call inside another value', '[{"id":1,"method":"query"}]'],
  ])('%s opens none', (_name, frame) => {
    const { calls, receive } = open()
    expect(receive(frame)).toBe(true)
    expect(calls.isOpen).toBe(false)
  })

  test('is not changed by a response to a subscription that the client has not sent', () => {
    const { calls, receive, answer } = open()
    receive('{"id":1,"method":"query"}')
    expect(answer(2, 'started')).toBe(true)
    answer(1, 'data')
    expect(calls.isOpen).toBe(false)
  })

  test.each([
    ['written twice', '{"id":1,"method":"query","method":"subscription"}'],
    ['escaped', String.raw`{"id":1,"method":"query","method":"subscr\u0069ption"}`],
  ])('whose other method is a subscription, %s, is one: JSON has the last member', (_name, frame) => {
    const { calls, receive } = open()
    expect([receive(frame), calls.isWaiting, calls.isOpen]).toEqual([true, false, true])
    expect(receive(frame)).toBe(false)
  })

  test('is only followed among the first thousand', () => {
    const { calls, receive, answer } = open()
    const call = (id: number) => receive(`{"id":${id},"method":"query"}`)
    for (let id = 1; id <= 1_000; id++) call(id)
    expect(call(1_001)).toBe(true)
    for (let id = 1; id <= 999; id++) answer(id, 'data')
    expect(calls.isWaiting).toBe(true)
    answer(1_000, 'data')
    expect(calls.isWaiting).toBe(false)
    call(1_002)
    expect(calls.isWaiting).toBe(true)
  })

  test.each([
    ['another call', '{"id":2,"result":{"type":"data"}}'],
    ['a reconnect', '{"id":null,"method":"reconnect"}'],
    ['data that contains a response', '{"id":9,"result":{"data":{"id":1,"error":{}}}}'],
    ['text before a response', ' {"id":1,"error":{}}'],
    ['a binary frame', Buffer.from('{"id":1,"error":{}}')],
  ])('is not ended by %s', (_name, frame) => {
    const { calls, receive } = open()
    receive('{"id":1,"method":"query"}')
    expect(calls.send(frame)).toBe(true)
    expect(calls.isWaiting).toBe(true)
  })
})

describe('a subscription', () => {
  test.each(['subscription', String.raw`subscr\u0069ption`])(
    'written as %s is open until it stops',
    (method) => {
      const { calls, receive, answer } = open()
      expect(receive(`{"id":1,"method":"${method}"}`)).toBe(true)
      for (const type of ['started', 'data', 'data']) {
        expect(answer(1, type)).toBe(true)
        expect([calls.isWaiting, calls.isOpen]).toEqual([false, true])
      }
      expect(answer(1, 'stopped')).toBe(true)
      expect(calls.isOpen).toBe(false)
    },
  )

  test('breaks the limit when one too many starts', () => {
    const { start, answer } = open()
    expect([start(1), start(2), start(3)]).toEqual([true, true, false])
    // The server repeats it.
    expect(answer(1, 'started')).toBe(false)
  })

  test('takes one place, however often the server confirms it', () => {
    const { start, answer } = open()
    expect([start(1), answer(1, 'started'), start(2)]).toEqual([true, true, true])
  })

  test('breaks the limit when too many wait for their start', () => {
    const { subscribe, fail } = open()
    expect([1, 2, 3, 4, 5].map(subscribe)).toEqual([true, true, true, true, false])
    fail(1)
    expect([subscribe(5), subscribe(6)]).toEqual([true, false])
  })

  test('must not use an id that is open', () => {
    const { subscribe, start, answer } = open()
    expect([subscribe(1), subscribe(1), subscribe('1')]).toEqual([true, false, true])
    answer(1, 'stopped')
    expect([start(1), subscribe(1)]).toEqual([true, false])
  })

  test('leaves its place when it stops or fails', () => {
    const { start, answer, fail } = open()
    expect([start(1), start(2)]).toEqual([true, true])
    answer(1, 'stopped')
    expect(start(3)).toBe(true)
    fail(2)
    expect([start(4), start(5)]).toEqual([true, false])
  })

  test('leaves no place if it fails before its start', () => {
    const { start, subscribe, fail } = open()
    subscribe(1)
    fail(1)
    expect([start(2), start(3), start(4)]).toEqual([true, true, false])
  })

  test('is stopped when an error has its id, unless it never started', () => {
    const { stopped, subscribe, start, answer, fail } = open()
    subscribe(1)
    fail(1)
    start(2)
    answer(2, 'stopped')
    expect(stopped).toEqual([])
    start(3)
    expect(fail(3)).toBe(true)
    expect(stopped).toEqual([3])
  })

  test('with the id of a call is not confused with it', () => {
    const { calls, receive, start, answer } = open()
    receive('{"id":1,"method":"query"}')
    start(1)
    answer(1, 'stopped')
    expect(calls.isWaiting).toBe(true)
    answer(1, 'data')
    expect(calls.isWaiting).toBe(false)
  })
})

describe('a place', () => {
  test('is reserved among those of the limit, and released once', () => {
    const { calls, start } = open()
    start(1)
    const release = calls.reserve()
    expect(release).not.toBeNull()
    expect(calls.reserve()).toBeNull()
    release?.()
    release?.()
    expect(calls.reserve()).not.toBeNull()
    expect(calls.reserve()).toBeNull()
  })
})
