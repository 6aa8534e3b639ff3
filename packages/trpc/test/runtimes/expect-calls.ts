import assert from 'node:assert/strict'
import * as z from 'zod'
import { type Hosts, reasonOf, type User } from './open-user.ts'

/** Calls the protected, the admin, and the sensitive procedure over each transport at once. */
export async function expectCalls({ callers }: User, expected: readonly unknown[]): Promise<void> {
  const outcomes = await Promise.all(
    callers.map((caller) =>
      Promise.all([
        caller
          .query('me')
          .then(Me.parse)
          .then(({ email }) => email)
          .catch(reasonOf),
        caller
          .query('users')
          .then(Users.parse)
          .then(([first]) => first?.email)
          .catch(reasonOf),
        caller
          .mutation('rotateKey')
          .then(NewKey.parse)
          .then(({ userId }) => userId)
          .catch(reasonOf),
      ]),
    ),
  )
  assert.deepEqual(
    outcomes,
    callers.map(() => expected),
  )
}

export const Me = z.object({ email: z.string() })
const Users = z.array(Me)
const NewKey = z.object({ userId: z.string() })

/** Subscribes over each transport, ends the session, and expects each stream to end with the reason. */
export async function expectEnds(
  { subscribers }: User,
  { by, reason }: { by: () => unknown; reason: string },
): Promise<void> {
  const begun: Promise<unknown>[] = []
  const ended = subscribers.map(
    (subscriber) =>
      new Promise<string>((resolve) => {
        const first = Promise.withResolvers<unknown>()
        begun.push(first.promise)
        subscriber.subscription('ticks', undefined, {
          onData: first.resolve,
          onError: (error) => resolve(reasonOf(error)),
          onComplete: () => resolve('complete'),
        })
      }),
  )
  await Promise.all(begun)
  await by()
  assert.deepEqual(
    await Promise.all(ended),
    subscribers.map(() => reason),
  )
}

/** Returns the status and the reason of a rejected call. */
export async function meWith({ calls }: Hosts, cookie: string): Promise<unknown[]> {
  const response = await fetch(`${calls}/me`, { headers: { cookie } })
  const { error } = Rejection.parse(await response.json())
  return [response.status, error.data.auth.reason]
}

const Rejection = z.object({
  error: z.object({ data: z.object({ auth: z.object({ reason: z.string() }) }) }),
})
