import { CancelledError, MutationObserver, QueryClient, QueryObserver } from '@tanstack/react-query'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { createFollower } from '../../src/react/auth-provider.ts'

let queryClient: QueryClient
beforeEach(() => {
  queryClient = new QueryClient()
})

/** Changes the user whose data the query client holds. */
function forgetUser(client: QueryClient): void {
  const followUser = createFollower()
  for (const userChanges of [0, 1]) followUser(client, userChanges)
}

const key = ['notes']
const cached = () => queryClient.getQueryData(key)

/** Runs all pending work. */
const turn = () => new Promise((resolve) => setTimeout(resolve))

describe('queries of the previous user', () => {
  test('are removed, even with observers', () => {
    queryClient.setQueryData(key, ['of ada'])
    const unsubscribe = new QueryObserver(queryClient, { queryKey: ['me'], queryFn: () => 'ada' }).subscribe(
      () => {},
    )
    forgetUser(queryClient)
    expect(queryClient.getQueryCache().getAll()).toEqual([])
    unsubscribe()
  })

  test('in flight are canceled: the response is dropped, even for a query with the same key', async () => {
    const answer = Promise.withResolvers<string>()
    let isAborted = false
    const asked = queryClient.fetchQuery({
      queryKey: key,
      queryFn: ({ signal }) => {
        signal.addEventListener('abort', () => {
          isAborted = true
        })
        return answer.promise
      },
    })
    const rejection = expect(asked).rejects.toBeInstanceOf(CancelledError)
    forgetUser(queryClient)
    await rejection
    expect(isAborted).toBe(true)
    const next = queryClient.fetchQuery({ queryKey: key, queryFn: () => 'of grace' })
    answer.resolve('of ada')
    expect(await next).toBe('of grace')
    await turn()
    expect(cached()).toBe('of grace')
  })

  test('that wait for a retry are not sent again', async () => {
    let attempts = 0
    const asked = queryClient.fetchQuery({
      queryKey: key,
      queryFn: async () => {
        attempts++
        throw new Error('busy')
      },
      retry: true,
      retryDelay: 1,
    })
    await turn()
    forgetUser(queryClient)
    await expect(asked).rejects.toBeInstanceOf(CancelledError)
    const before = attempts
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(attempts).toBe(before)
  })
})

test('queries are cancelled before anything is removed', () => {
  const cancelQueries = vi.spyOn(queryClient, 'cancelQueries')
  const clear = vi.spyOn(queryClient, 'clear')
  forgetUser(queryClient)
  expect(cancelQueries).toHaveBeenCalledBefore(clear)
})

describe('mutations of the previous user', () => {
  /** Creates an optimistic mutation that restores the old data if it fails. */
  function rename(answer: Promise<string>) {
    const optimistic = new MutationObserver(queryClient, {
      mutationFn: () => answer,
      onMutate: () => {
        const before = cached()
        queryClient.setQueryData(key, ['of ada, renamed'])
        return before
      },
      onError: (_error, _variables, before) => queryClient.setQueryData(key, before),
      onSuccess: (data) => queryClient.setQueryData(key, [data]),
      onSettled: () => queryClient.setQueryData(['settled'], 'of ada'),
    })
    return optimistic.mutate()
  }

  test('are removed, and unsent ones are never sent', async () => {
    let isSent = false
    const pay = new MutationObserver(queryClient, {
      mutationFn: async () => {
        isSent = true
      },
      onMutate: turn,
    })
    const paid = pay.mutate()
    forgetUser(queryClient)
    expect(queryClient.getMutationCache().getAll()).toEqual([])
    await expect(paid).rejects.toThrow()
    expect(isSent).toBe(false)
  })

  test('that fail afterwards restore nothing', async () => {
    queryClient.setQueryData(key, ['of ada'])
    const answer = Promise.withResolvers<string>()
    const renamed = rename(answer.promise)
    await turn()
    expect(cached()).toEqual(['of ada, renamed'])
    forgetUser(queryClient)
    answer.reject(new Error('another user has signed in'))
    await expect(renamed).rejects.toThrow('another user has signed in')
    expect(queryClient.getQueryCache().getAll()).toEqual([])
  })

  test('that succeed afterwards leave no data', async () => {
    const answer = Promise.withResolvers<string>()
    const renamed = rename(answer.promise)
    await turn()
    forgetUser(queryClient)
    answer.resolve('of ada')
    expect(await renamed).toBe('of ada')
    expect(queryClient.getQueryCache().getAll()).toEqual([])
  })

  test('are not sent again on behalf of the next user', async () => {
    let attempts = 0
    const pay = new MutationObserver(queryClient, {
      mutationFn: async () => {
        attempts++
        throw new Error('busy')
      },
      retry: 5,
      retryDelay: 1,
    })
    const paid = pay.mutate()
    paid.catch(() => {})
    await turn()
    forgetUser(queryClient)
    const before = attempts
    expect(before).toBeGreaterThan(0)
    await expect(paid).rejects.toThrow()
    expect(attempts).toBe(before)
  })
})

describe('a query client is emptied', () => {
  test.each([
    { earlier: [0], userChanges: 1, is: 'when the user has changed', left: [] },
    { earlier: [0], userChanges: 2, is: 'even if a change was missed', left: [] },
    { earlier: [], userChanges: 3, is: 'never on the first count', left: ['of ada'] },
    { earlier: [2], userChanges: 2, is: 'not on the same count', left: ['of ada'] },
    {
      earlier: [0, 2],
      userChanges: 0,
      is: 'not on an earlier count, which hydration renders once more',
      left: ['of ada'],
    },
    { earlier: [0, 2, 0], userChanges: 2, is: 'not on a return to the latest count', left: ['of ada'] },
  ])('$is', ({ earlier, userChanges, left }) => {
    const followUser = createFollower()
    for (const count of earlier) followUser(queryClient, count)
    queryClient.setQueryData(key, 'of ada')
    followUser(queryClient, userChanges)
    expect(
      queryClient
        .getQueryCache()
        .getAll()
        .map(({ state }) => state.data),
    ).toEqual(left)
  })
})
