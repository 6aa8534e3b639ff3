import type { PostgresDriver } from './driver.ts'

/** Makes statements fail once the store is closed. The app's client stays open. */
export function borrowed(
  driver: Omit<PostgresDriver, 'close'> & Partial<Pick<PostgresDriver, 'close'>>,
): PostgresDriver {
  const { query, connect, listen } = driver
  let isClosed = false
  function check(): void {
    if (isClosed) throw new Error('The database is closed')
  }
  return {
    ...driver,
    async query(statement) {
      check()
      return query(statement)
    },
    ...(connect !== undefined && {
      async connect() {
        check()
        return connect()
      },
    }),
    ...(listen !== undefined && {
      async listen(channel, events) {
        check()
        return listen(channel, events)
      },
    }),
    async close() {
      isClosed = true
      await driver.close?.()
    },
  }
}
