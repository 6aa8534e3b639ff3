import { describe, expect, test } from 'vitest'
import { isBatch, splitBatch } from '../../src/server/split-frame.ts'

const split = (frame: string) => Array.from(splitBatch(Buffer.from(frame)), String)

describe('a frame', () => {
  test.each([
    { frame: '[]', expected: true },
    { frame: ' \t\r\n[1]', expected: true },
    { frame: '{"id":1}', expected: false },
    { frame: '', expected: false },
    { frame: '"[]"', expected: false },
    { frame: 'PING', expected: false },
  ])('$frame is a batch: $expected', ({ frame, expected }) => {
    expect(isBatch(Buffer.from(frame))).toBe(expected)
  })

  test.each([
    // An empty batch must count as a frame.
    { frame: '[]', calls: [''] },
    { frame: '[ ]', calls: [' '] },
    { frame: '[{"id":1}]', calls: ['{"id":1}'] },
    { frame: ' [{"id":1} , {"id":2}] ', calls: ['{"id":1} ', ' {"id":2}'] },
    { frame: '[{"a":[1,2],"b":{"c":"],["}},2]', calls: ['{"a":[1,2],"b":{"c":"],["}}', '2'] },
    { frame: String.raw`["a\",b","\\",3]`, calls: [String.raw`"a\",b"`, String.raw`"\\"`, '3'] },
    { frame: '["ü,☃",1]', calls: ['"ü,☃"', '1'] },
    // tRPC rejects invalid JSON, each part separately.
    { frame: '[,]', calls: ['', ''] },
    { frame: '[{"id":1}', calls: ['{"id":1}'] },
    { frame: '[{"id":1}] rest', calls: ['{"id":1}'] },
    { frame: '["', calls: ['"'] },
    { frame: '[', calls: [''] },
  ])('$frame holds $calls', ({ frame, calls }) => {
    expect(split(frame)).toEqual(calls)
  })

  test('with nested batches has none of their calls', () => {
    expect(split('[ [{"id":1},{"id":2}], {"id":3}]')).toEqual(['', ' {"id":3}'])
  })

  test('holds the calls that JSON.parse finds', () => {
    const values = [{ a: '[{"\\,' }, [], 'ü"\\', null, -1.5e9, { deep: [[{ x: ['}'] }]] }, true].filter(
      (value) => !Array.isArray(value),
    )
    for (const indent of [0, 2])
      expect(split(JSON.stringify(values, null, indent)).map((call) => JSON.parse(call))).toEqual(values)
  })
})
