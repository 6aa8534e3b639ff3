import { commit } from '@sallyport/core/auth'
import { createTestAuth } from '@sallyport/core/testing'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { withListener } from '../../src/cli/app-database.ts'

afterEach(() => vi.useRealTimers())

test('a command waits 10 s for a listener that never settles, and then says that it ends', async () => {
  const onEvent = vi.fn(() => new Promise(() => {}))
  const auth = await createTestAuth({ onEvent })
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(async () => {
    logged.mockRestore()
    await auth.close()
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
  const { definition, database } = auth
  const ended = vi.fn()
  void withListener(database, definition, (observed) =>
    commit(observed, async (_trx, record) =>
      record({ type: 'example:changed', at: new Date(), userId: null, actorId: 'cli' }),
    ),
  ).then(ended)
  await vi.waitFor(() => expect(onEvent).toHaveBeenCalled())
  await vi.advanceTimersByTimeAsync(9_900)
  expect(ended).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(400)
  expect(ended).toHaveBeenCalledOnce()
  expect(logged.mock.calls).toEqual([['onEvent takes over 10 s. This process ends before it has finished.']])
})
