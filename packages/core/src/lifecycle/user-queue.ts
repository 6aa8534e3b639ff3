const queues = new WeakMap<object, Map<string, Promise<void>>>()

/**
 * Runs the transactions of a user in this process one after another. Otherwise each would hold a connection
 * while it waits for the lock of the user, and a revocation of that user needs one too.
 * @param options.locks those of the database, which its clients and their copies share
 * @param options.wait bounds the time in the queue. If it rejects, the work doesn't start.
 */
export async function inUserQueue<Result>(
  { locks, userId, wait }: { locks: object; userId: string; wait: (before: Promise<void>) => Promise<void> },
  work: () => Promise<Result>,
): Promise<Result> {
  const queue = queues.get(locks) ?? new Map<string, Promise<void>>()
  queues.set(locks, queue)
  const before = queue.get(userId) ?? Promise.resolve()
  const turn = Promise.withResolvers<void>()
  // If this caller gives up, later callers still wait for the earlier ones.
  const last = before.then(() => turn.promise)
  queue.set(userId, last)
  void last.then(() => {
    if (queue.get(userId) === last) queue.delete(userId)
  })
  try {
    await wait(before)
    return await work()
  } finally {
    turn.resolve()
  }
}
