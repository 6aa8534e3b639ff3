import { isSessionOver, isTokenReason, REASONS } from '@sallyport/core/internal/protocol'
import { expect, test } from 'vitest'

const reasons = Object.keys(REASONS)

test('another JWT may help with the reasons that are about the JWT, and with no other', () => {
  expect(reasons.filter(isTokenReason)).toEqual(['TOKEN_MISSING', 'TOKEN_EXPIRED', 'TOKEN_INVALID'])
})

test('two reasons say that the session has ended: neither that it is not fresh, nor that nobody can tell', () => {
  expect(reasons.filter(isSessionOver)).toEqual(['SESSION_NOT_FOUND', 'SESSION_EXPIRED'])
})
