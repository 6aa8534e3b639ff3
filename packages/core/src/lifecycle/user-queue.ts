const lines = new WeakMap<object, Map<string, Promise<void>>>()

/**
 * Runs work on behalf of a user when what was asked for before, in this process and on this database, is over. It would wait for the lock
 * of the user anyway, but on a connection, of which there are few: others need them, not least whoever wants to revoke that user.
 *
 * @param options.wait bounds how long one stands in line; what it rejects with is thrown, and the work is not begun
 */
export async function inUserLine<Result>(
  { db, userId, wait }: { db: object; userId: string; wait: (turn: Promise<void>) => Promise<void> },
  work: () => Promise<Result>,
): Promise<Result> {
  const line = lines.get(db) ?? new Map<string, Promise<void>>()
  lines.set(db, line)
  const before = line.get(userId) ?? Promise.resolve()
  const mine = Promise.withResolvers<void>()
  // Whoever gives up leaves the line as it was for those behind, who wait for those before.
  const last = before.then(() => mine.promise)
  line.set(userId, last)
  void last.then(() => {
    if (line.get(userId) === last) line.delete(userId)
  })
  try {
    await wait(before)
    return await work()
  } finally {
    mine.resolve()
  }
}
