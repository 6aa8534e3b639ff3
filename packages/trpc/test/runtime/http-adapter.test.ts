import { type Reason, validateSession } from '@sallyport/core'
import type { Runner, RunnerCall } from '@sallyport/trpc/action'
import { describe, expect, test } from 'vitest'
import { httpStore } from '../../src/runtime/http-adapter.ts'

const key = { sessionId: 's1', userId: 'u1', version: 1, issuer: 'http://localhost:3000' }
const limit = { points: 1, duration: 60 }

/** Creates a backend that returns the same result for every call. */
function answering(answer: unknown): Runner & { readonly calls: RunnerCall[] } {
  const calls: RunnerCall[] = []
  return {
    calls,
    async run(call) {
      calls.push(call)
      return answer
    },
  }
}

const unavailable: { reason: Reason } = { reason: 'SESSIONS_UNAVAILABLE' }

describe('a session', () => {
  test('is requested without an acting user, with only its key', async () => {
    const runner = answering(null)
    const identity = { ...key, issuer: 'https://app.example', keyId: 'k1', expiresAt: new Date() }
    expect(await httpStore(runner).sessions.findSession(identity)).toBeNull()
    const input = { sessionId: 's1', userId: 'u1' }
    expect(runner.calls).toEqual([{ type: 'query', path: 'sallyport.findSession', input, actor: null }])
  })

  test.each([
    ['nothing', undefined],
    ['a string', 'yes'],
    ['an object without members', {}],
    ['a session without a user', { id: 's1', userId: 'u1', expiresAt: '2030-01-01T00:00:00.000Z' }],
    [
      "another user's session",
      {
        id: 's2',
        userId: 'u2',
        expiresAt: '2030-01-01T00:00:00.000Z',
        user: { id: 'u2', role: 'user' },
        ban: null,
      },
    ],
  ])('is 503 if it is %s', async (_what, answer) => {
    const { sessions } = httpStore(answering(answer))
    await expect(validateSession(key, sessions)).rejects.toMatchObject(unavailable)
  })
})

describe('an attempt', () => {
  test.each([null, 42])('is counted at the database: %s', async (seconds) => {
    const runner = answering(seconds)
    expect(await httpStore(runner).limits?.consume('procedure:a', limit)).toBe(seconds)
    expect(runner.calls).toEqual([
      {
        type: 'mutation',
        path: 'sallyport.consumeLimit',
        input: { key: 'procedure:a', limit },
        actor: null,
      },
    ])
  })

  test.each([[undefined], [true], ['1'], [{}]])('with the result %j is 503', async (answer) => {
    await expect(httpStore(answering(answer)).limits?.consume('procedure:a', limit)).rejects.toMatchObject(
      unavailable,
    )
  })
})

test('there is no revocation feed, so streams look the session up', () => {
  const { revocations } = httpStore(answering(null))
  revocations.publish({ sessionId: 's1', userId: 'u1' })
  expect(revocations.revision).toBe(0)
  expect(() => revocations.subscribe(key, () => {})()).not.toThrow()
})
