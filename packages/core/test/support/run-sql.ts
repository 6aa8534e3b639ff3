import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** A SQLite connection in a separate thread, because statements wait for the disk and for other writers. */
export interface SqlHand {
  run(sql: string, ...values: string[]): Promise<void>
  close(): Promise<void>
}

/** Opens a connection outside any store. */
export async function openSqlHand(path: string): Promise<SqlHand> {
  const worker = new Worker(new URL('../fixtures/run-sql.ts', import.meta.url), {
    workerData: path,
    execArgv: [],
  })
  const waiting: PromiseWithResolvers<void>[] = []
  worker.on('message', (error: string | null) => {
    const next = waiting.shift()
    if (error === null) next?.resolve()
    else next?.reject(new Error(error))
  })
  await once(worker, 'online')
  return {
    run(sql, ...values) {
      const done = Promise.withResolvers<void>()
      waiting.push(done)
      worker.postMessage([sql, values])
      return done.promise
    },
    async close() {
      await worker.terminate()
    },
  }
}
