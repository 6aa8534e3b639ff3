import { withDeadline } from '../../../protocol/deadline.ts'
import type { Query, ReservedConnection, StatementResult } from './driver.ts'

/** Begins a transaction, and commits it when `run` resolves. Rolls it back when `run` rejects. */
export type Begin = (mode: string | null, run: (query: Query) => Promise<void>) => Promise<unknown>

interface OpenTransaction {
  readonly query: Query
  end(command: 'commit' | 'rollback'): Promise<unknown>
}

const BEGIN = /^(?:begin|start transaction(?: (?<mode>.+))?)$/

/**
 * Returns a connection for drivers that only keep other statements out of transactions that their own method
 * begins. Statements outside a transaction run on any connection.
 */
export function callbackTransaction(
  begin: Begin,
  { query, timeoutMs }: { readonly query: Query; readonly timeoutMs: number },
): ReservedConnection {
  let open: OpenTransaction | null = null
  return {
    async query<Row>(statement: Parameters<Query>[0]): Promise<StatementResult<Row>> {
      const { text } = statement
      if (text === 'commit' || text === 'rollback') {
        const ending = open
        open = null
        await ending?.end(text)
        return done(text)
      }
      const started = BEGIN.exec(text)
      if (started === null) return (open?.query ?? query)<Row>(statement)
      open = await openTransaction(begin, { mode: started.groups?.mode ?? null, timeoutMs })
      return done('begin')
    },
    release: () => void open?.end('rollback').catch(() => {}),
  }
}

function done(text: string): StatementResult<never> {
  return { rows: [], rowCount: null, command: text.toUpperCase() }
}

/** Makes the driver roll back. */
class Rollback extends Error {}

async function openTransaction(
  begin: Begin,
  { mode, timeoutMs }: { readonly mode: string | null; readonly timeoutMs: number },
): Promise<OpenTransaction> {
  const begun = Promise.withResolvers<Query>()
  const ended = Promise.withResolvers<void>()
  const finished = begin(mode, (query) => {
    begun.resolve(query)
    return ended.promise
  })
  finished.catch(begun.reject)
  // The driver may never begin.
  ended.promise.catch(() => {})

  function end(command: 'commit' | 'rollback'): Promise<unknown> {
    if (command === 'commit') ended.resolve()
    else ended.reject(new Rollback())
    const ending = finished.catch((error: unknown) => {
      if (!(error instanceof Rollback)) throw error
    })
    return withDeadline(ending, timeoutMs)
  }

  try {
    return { query: await withDeadline(begun.promise, timeoutMs), end }
  } catch (error) {
    // The driver may still begin it.
    end('rollback').catch(() => {})
    throw error
  }
}
