import { readFileSync } from 'node:fs'
import { AuthClientError, type AuthState, type AuthStatus } from '@sallyport/trpc/client'
import { describe, expect, test } from 'vitest'
import { hydrate, type SessionEvent, type SessionState, transition } from '../../src/client/session-state.ts'

const outage = new AuthClientError(503, { code: 'SESSIONS_UNAVAILABLE', message: '' })
const superseded = new AuthClientError(409, { code: 'SECRET_SUPERSEDED', message: '' })

const jwt = (sessionId: string, seq: number) => ({
  ...{ userId: 'ada', sessionId, seq, expiresIn: 900, since: 0 },
})
const received = (sessionId: string, seq: number, isNew = false): SessionEvent => ({
  type: 'received',
  receipt: { ...jwt(sessionId, seq), isNew },
})

/** Returns the state with that status. Its session, if any, is `ada-1`. */
function stateOf(status: AuthStatus): SessionState {
  const shown: AuthState = { status, userChanges: 0, userId: null, sessionId: null, error: null }
  const first = { ...hydrate(undefined), shown }
  if (status !== 'authenticated' && status !== 'signing-out') return first
  const ada = { userId: 'ada', sessionId: 'ada-1' }
  return { ...first, shown: { ...shown, ...ada }, held: jwt('ada-1', 10), seq: 10 }
}

/** The columns of the table in docs/clients.md. */
const EVENTS: Readonly<Record<string, SessionEvent>> = {
  'JWT, same session': received('ada-1', 11),
  'JWT, other session': received('ada-2', 11),
  'sign-in': received('ada-2', 11, true),
  'session ended': { type: 'ended' },
  'attempt failed': { type: 'failed', error: outage },
  'sign-out': { type: 'signing-out' },
  'sign-out rejected': { type: 'failed', error: outage, final: true },
}

describe('the table in docs/clients.md', () => {
  const page = readFileSync(new URL('../../../../docs/clients.md', import.meta.url), 'utf8')
  const [, section = ''] = page.split(/### How the status changes|### Errors/)
  const lines = section.split('\n').filter((line) => line.startsWith('|'))
  const [names = [], , ...rows] = lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
  const cases = rows.flatMap(([status = '', ...cells]) =>
    cells.flatMap((next, i) => (next ? [{ status, event: `${names[i + 1]}`, next }] : [])),
  )

  test('has every event and every status', () => {
    expect(names.slice(1)).toEqual(Object.keys(EVENTS))
    expect(rows).toHaveLength(5)
  })

  test.each(cases)('$status, $event: $next', ({ status, event, next }) => {
    const before = stateOf(status.replaceAll('`', '') as AuthStatus)
    const { shown } = transition(before, EVENTS[event] as SessionEvent)
    const [name = ''] = next.replaceAll('`', '').split(' ')
    expect(shown).toMatchObject({ status: name, userChanges: next.endsWith('+') ? 1 : 0 })
  })
})

describe('an event that changes nothing', () => {
  test.each([
    { name: 'an older JWT', event: received('ada-1', 10) },
    { name: 'a JWT older than that of another session', event: received('ada-2', 9) },
  ] as const)('$name', ({ event }) => {
    const state = stateOf('authenticated')
    expect(transition(state, event)).toBe(state)
  })

  test('a late JWT of an ended or superseded session', () => {
    const ended = transition(stateOf('authenticated'), { type: 'ended' })
    expect(transition(ended, received('ada-1', 99))).toBe(ended)
    const here = transition(stateOf('authenticated'), { type: 'ended', error: superseded })
    expect(here.shown.error).toBe(superseded)
    expect(transition(here, received('ada-1', 10))).toBe(here)
    expect(transition(here, received('ada-1', 11)).shown.status).toBe('authenticated')
    // The next end still knows which session it was.
    expect(transition(transition(ended, { type: 'ended' }), received('ada-1', 99)).shown.status).toBe(
      'unauthenticated',
    )
  })
})

describe('a response to an earlier request', () => {
  test.each([
    { event: 'JWT, same session', isDropped: false },
    { event: 'attempt failed', isDropped: false },
    { event: 'JWT, other session', isDropped: true },
    { event: 'session ended', isDropped: true },
    { event: 'sign-out', isDropped: true },
  ])('$event: dropped $isDropped', ({ event, isDropped }) => {
    const before = stateOf('authenticated')
    const { epoch } = transition(before, EVENTS[event] as SessionEvent)
    expect(epoch !== before.epoch).toBe(isDropped)
  })
})

test('a JWT ends the failures', () => {
  const failed = transition(stateOf('authenticated'), { type: 'failed', error: outage })
  expect(failed).toMatchObject({ failures: 1, shown: { status: 'authenticated', error: outage } })
  const next = transition({ ...failed, isStale: true }, received('ada-1', 11, true))
  expect(next).toMatchObject({ failures: 0, isStale: false, shown: { error: null } })
  expect([next.seq, next.minSeq]).toEqual([11, 11])
})

test('after the clock was set back, the JWT of a new session counts although that of the ended one is newer', () => {
  const confirmed = transition(stateOf('authenticated'), received('ada-1', 11, true))
  const ended = transition(confirmed, { type: 'ended' })
  const next = transition(ended, received('ada-2', 5))
  expect(next).toMatchObject({ seq: 5, minSeq: 0, shown: { sessionId: 'ada-2' } })
})
