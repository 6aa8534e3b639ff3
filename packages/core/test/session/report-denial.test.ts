import { AuthError, type AuthEvent, defineAuthConfig } from '@sallyport/core'
import { expect, test } from 'vitest'
import { denial, reportRejection, withoutReports, withReport } from '../../src/session/report-denial.ts'
import { hashSecret } from '../../src/session/secret.ts'
import { eventually } from '../support/eventually.ts'
import { recordTelemetry } from '../support/record-telemetry.ts'
import { createTokenGate } from '../support/token-gate.ts'

const { keySet } = await createTokenGate()
const now = new Date('2026-11-21T12:00:00.000Z')
const rejection = new AuthError('SESSION_EXPIRED')
const fault = new TypeError('not a rejection')

function openScene() {
  const events: AuthEvent[] = []
  const onEvent = (event: AuthEvent) => void events.push(event)
  const shared = { baseUrl: 'http://localhost:3000', jwks: keySet, now: () => now }
  return { events, config: defineAuthConfig({ ...shared, onEvent }), silent: defineAuthConfig(shared) }
}

const denied = (event: object) => ({ type: 'decision.denied', at: now, ...event })

test('a rejected step is reported with the hash of the session id, and rejects', async () => {
  const { events, config } = openScene()
  const step = { step: 2, sessionId: 's1', config } as const
  await expect(withReport(() => Promise.reject(rejection), step)).rejects.toBe(rejection)
  const sessionIdHash = await hashSecret('s1')
  const event = denied({ reason: 'SESSION_EXPIRED', step: 2, sessionIdHash, durationMs: expect.any(Number) })
  await eventually(() => expect(events).toEqual([event]))
})

test('the report says how long the step took', async () => {
  const { events, config } = openScene()
  const startedAt = performance.now()
  const step = { step: 1, sessionId: null, config } as const
  await expect(withReport(() => Promise.reject(rejection), step)).rejects.toBe(rejection)
  await eventually(() => expect(events).toMatchObject([{ step: 1, sessionIdHash: null }]))
  const [event] = events
  const durationMs = event?.type === 'decision.denied' ? event.durationMs : Number.NaN
  expect(durationMs).toBeGreaterThanOrEqual(0)
  expect(durationMs).toBeLessThanOrEqual(performance.now() - startedAt)
})

test('a decision without reads is reported too', async () => {
  const { events, config } = openScene()
  const step = { step: 2, sessionId: 's1', config } as const
  const reject = () => {
    throw rejection
  }
  expect(() => reportRejection(reject, step)).toThrow(rejection)
  expect(reportRejection(() => 'decided', step)).toBe('decided')
  const sessionIdHash = await hashSecret('s1')
  const event = denied({ reason: 'SESSION_EXPIRED', step: 2, sessionIdHash, durationMs: 0 })
  await eventually(() => expect(events).toEqual([event]))
})

test('a later check reports its denial and returns the error', async () => {
  const { events, config } = openScene()
  expect(denial('ROLE_REQUIRED', 's1', { config })).toMatchObject({ reason: 'ROLE_REQUIRED' })
  const sessionIdHash = await hashSecret('s1')
  const event = denied({ reason: 'ROLE_REQUIRED', step: 2, sessionIdHash, durationMs: 0 })
  await eventually(() => expect(events).toEqual([event]))
})

test.each([
  ['', undefined],
  [', with what the guard requires', { factor: 'totp', maxAgeSeconds: 60 }],
] as const)('the error of a later check has its reason%s', (_name, required) => {
  const { config } = openScene()
  const error = denial('FACTOR_REQUIRED', 's1', { config, ...(required !== undefined && { required }) })
  expect([error.reason, error.required]).toEqual(['FACTOR_REQUIRED', required])
})

test('denials are counted by reason and step, even without a listener', async () => {
  const { silent } = openScene()
  const { telemetry, recorded } = recordTelemetry()
  const step = { step: 1, sessionId: null, config: { ...silent, telemetry } } as const
  await expect(withReport(() => Promise.reject(rejection), step)).rejects.toBe(rejection)
  expect(recorded).toEqual([['count', 'denials', { reason: 'SESSION_EXPIRED', step: 'step1' }]])
})

test('a read whose result no caller gets reports nothing, and has a background telemetry', () => {
  const { config, silent } = openScene()
  const { telemetry } = recordTelemetry()
  const quiet = { ...config, onEvent: undefined, telemetry: telemetry.background }
  expect(withoutReports({ ...config, telemetry })).toEqual(quiet)
  expect(withoutReports(silent)).toEqual(silent)
})

test('what is not a rejection passes without a report, and so does everything without a listener', async () => {
  const { events, config, silent } = openScene()
  const step = { step: 2, sessionId: 's1', config } as const
  const fail = () => {
    throw fault
  }
  await expect(withReport(() => Promise.reject(fault), step)).rejects.toBe(fault)
  expect(() => reportRejection(fail, step)).toThrow(fault)
  expect(await withReport(async () => 'decided', step)).toBe('decided')
  await expect(withReport(() => Promise.reject(rejection), { ...step, config: silent })).rejects.toBe(
    rejection,
  )
  expect(denial('ROLE_REQUIRED', 's1', { config: silent })).toMatchObject({ reason: 'ROLE_REQUIRED' })
  // Its event is the last one.
  denial('SESSION_NOT_FRESH', 's1', { config })
  await eventually(() => expect(events).toMatchObject([{ reason: 'SESSION_NOT_FRESH' }]))
})
