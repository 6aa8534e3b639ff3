import { describe, expect, test } from 'vitest'
import { isBase64url } from '../../src/jwt/base64url.ts'

test('whatever node encodes is base64url, and its every other spelling is not', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  for (let byte = 0; byte < 256; byte++) {
    for (const bytes of [[byte], [7, byte], [7, 7, byte]]) {
      const encoded = Buffer.from(bytes).toString('base64url')
      const spellings = [...alphabet].map((last) => encoded.slice(0, -1) + last)
      const sameBytes = spellings.filter((text) => Buffer.from(text, 'base64url').equals(Buffer.from(bytes)))
      expect(sameBytes.filter(isBase64url)).toEqual([encoded])
    }
  }
})

describe('rejected', () => {
  test.each(['A', 'AAAAA', 'AA=', 'AA==', 'A+AA', 'A/AA', 'AA A', 'AAAA\n', '\nAAAA', 'AAÄA', 'AA.A'])(
    '%j',
    (text) => {
      expect(isBase64url(text)).toBe(false)
    },
  )
})

test('nothing at all is base64url of no bytes', () => {
  expect(isBase64url('')).toBe(true)
})
