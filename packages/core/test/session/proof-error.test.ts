import { defineAuthConfig } from '@sallyport/core'
import { expect, test } from 'vitest'
import { proofError } from '../../src/session/proof-error.ts'
import type { Session } from '../../src/session/session.ts'
import { createTokenGate } from '../support/token-gate.ts'

const now = new Date('2026-01-01T00:00:00Z')
const { keySet: jwks } = await createTokenGate()
const config = defineAuthConfig({ baseUrl: 'https://app.example.com', jwks, now: () => now })
const codeAt = Math.floor(now.getTime() / 1000) - 61
const session = { id: 's1', lastAuthenticatedAt: now, amr: `{"otp":${codeAt}}` } as unknown as Session

test.each([
  { rule: { factor: null, maxAgeSeconds: 60 }, reason: null },
  { rule: { factor: 'totp', maxAgeSeconds: 61 }, reason: null },
  { rule: { factor: 'totp', maxAgeSeconds: 60 }, reason: 'SESSION_NOT_FRESH' },
  { rule: { factor: 'passkey', maxAgeSeconds: 60 }, reason: 'FACTOR_REQUIRED' },
] as const)('a session that lacks the proof of $rule gets $reason, with the rule', ({ rule, reason }) => {
  const error = proofError(session, rule, config)
  if (reason === null) expect(error).toBeNull()
  else expect(error).toMatchObject({ reason, required: rule })
})

test('no limit of the age is null in JSON', () => {
  const rule = { factor: 'passkey', maxAgeSeconds: Number.POSITIVE_INFINITY } as const
  expect(proofError(session, rule, config)?.required).toEqual({ factor: 'passkey', maxAgeSeconds: null })
})
