import { ChildProcess } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { existsSync, readFileSync } from 'node:fs'
import { Server, ServerResponse } from 'node:http'
import { format } from 'node:util'
import Database from 'better-sqlite3'
import { tap } from './tap.ts'

/** The places that others can read. */
export type Place = 'log' | 'error body' | 'URL' | 'database' | 'telemetry'

type Receive = (text: string | Uint8Array) => void

/** Reports every text that goes where others can read it. Reads a database when it is closed. */
export function watchPlaces(receive: (place: Place, text: string | Uint8Array) => void): {
  /** Reads the databases that are still open. */
  readOpenDatabases(): void
  /** Stops reading them. */
  forgetDatabases(): void
} {
  watchLogs((text) => receive('log', text))
  watchErrorBodies((text) => receive('error body', text))
  watchUrls((url) => receive('URL', url))
  return watchDatabases((bytes) => receive('database', bytes))
}

function watchLogs(receive: Receive): void {
  for (const method of ['log', 'info', 'warn', 'error', 'debug', 'trace', 'dir', 'table'])
    tap(console, method, { before: (args) => receive(format(...args)) })
  for (const stream of [process.stdout, process.stderr])
    tap(stream, 'write', { before: ([chunk]) => receiveChunk(chunk, receive) })
  watchChildren(receive)
}

function watchChildren(receive: Receive): void {
  const redirected = new WeakSet<object>()
  tap(ChildProcess.prototype, 'spawn', {
    // A child writes to its own pipes instead, and this process copies its output.
    before([options]) {
      if (!isObject(options) || !('stdio' in options) || !Array.isArray(options.stdio)) return
      const { stdio } = options
      for (const fd of [1, 2]) {
        if (stdio[fd] !== fd && stdio[fd] !== 'inherit') continue
        stdio[fd] = 'pipe'
        redirected.add(options)
      }
    },
    after(_result, [options], child) {
      if (!(child instanceof ChildProcess)) return
      const outputs = [
        [child.stdout, process.stdout],
        [child.stderr, process.stderr],
      ] as const
      for (const [from, to] of outputs) {
        if (from === null) continue
        tap(from, 'push', { before: ([chunk]) => receiveChunk(chunk, receive) })
        if (isObject(options) && redirected.has(options)) from.on('data', (chunk) => to.write(chunk))
      }
    },
  })
}

function watchErrorBodies(receive: Receive): void {
  tap(Response, 'json', {
    before([body, init]) {
      if (isObject(init) && 'status' in init && Number(init.status) >= 400) receive(JSON.stringify(body))
    },
  })
  for (const method of ['write', 'end']) {
    tap(ServerResponse.prototype, method, {
      before([chunk], response) {
        if (response instanceof ServerResponse && response.statusCode >= 400) receiveChunk(chunk, receive)
      },
    })
  }
  // The format of tRPC in batches and WebSocket messages.
  tap(JSON, 'stringify', {
    after(text, [value]) {
      const answers = Array.isArray(value) ? value : [value]
      if (answers.some((answer) => isObject(answer) && 'error' in answer)) receive(String(text))
    },
  })
}

function watchUrls(receive: Receive): void {
  tap(Request.prototype, 'url', { after: (url) => receive(decode(String(url))) }, 'get')
  tap(Server.prototype, 'emit', {
    before([event, request]) {
      if ((event === 'request' || event === 'upgrade') && isObject(request) && 'url' in request)
        receive(decode(String(request.url)))
    },
  })
  subscribe('undici:request:create', (message) => {
    if (isObject(message) && 'request' in message && isObject(message.request) && 'path' in message.request)
      receive(decode(String(message.request.path)))
  })
}

function watchDatabases(receive: Receive): ReturnType<typeof watchPlaces> {
  const open = new Set<Database.Database>()
  tap(Database.prototype, 'prepare', {
    before: (_args, database) =>
      void (database instanceof Database && !database.readonly && open.add(database)),
  })
  tap(Database.prototype, 'close', {
    before(_args, database) {
      if (!(database instanceof Database) || !open.delete(database) || !database.open) return
      // Of several connections to a file, read only the last one to close.
      const isLast = database.memory || [...open].every(({ name }) => name !== database.name)
      if (isLast) read(database)
    },
  })

  function read(database: Database.Database): void {
    // A connection that never opened, or is closed, needs no reading.
    if (!database.open) return
    if (database.memory) {
      receive(database.serialize())
      return
    }
    for (const file of [database.name, `${database.name}-wal`])
      if (existsSync(file)) receive(readFileSync(file))
  }
  return { readOpenDatabases: () => open.forEach(read), forgetDatabases: () => open.clear() }
}

function receiveChunk(chunk: unknown, receive: Receive): void {
  if (typeof chunk === 'string' || chunk instanceof Uint8Array) receive(chunk)
}

/** Decodes the spaces and other characters in it. */
function decode(url: string): string {
  try {
    return decodeURIComponent(url.replaceAll('+', ' '))
  } catch {
    return url
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
