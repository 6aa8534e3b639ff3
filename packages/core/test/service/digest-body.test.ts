import { createHash } from 'node:crypto'
import { digestBody } from '@sallyport/core/internal/server'
import { expect, test } from 'vitest'

test.each(['', '{}', 'ä', 'x'.repeat(100_000)])('the digest is SHA-256 in base64url', async (text) => {
  const digest = createHash('sha256').update(text).digest('base64url')
  expect(await digestBody(new TextEncoder().encode(text))).toBe(digest)
})
