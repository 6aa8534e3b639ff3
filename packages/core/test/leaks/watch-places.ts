import { ChildProcess } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { existsSync, readFileSync } from 'node:fs'
import { Server, ServerResponse } from 'node:http'
import { format } from 'node:util'
import Database from 'better-sqlite3'
import { tap } from './tap.ts'

/** Where others may read. */
export type Place = 'log' | 'error body' | 'URL' | 'database'

type Hear = (text: string | Uint8Array) => void

/** Hears of every text that goes where others may read. A database is read when it is closed. */
export function watchPlaces(hear: (place: Place, text: string | Uint8Array) => void): {
  /** Reads those that nobody has closed. */
  readOpenDatabases(): void
  /** Reads them no more. */
  forgetDatabases(): void
} {
  watchLogs((text) => hear('log', text))
  watchErrorBodies((text) => hear('error body', text))
  watchUrls((url) => hear('URL', url))
  return watchDatabases((bytes) => hear('database', bytes))
}

function watchLogs(hear: Hear): void {
  for (const method of ['log', 'info', 'warn', 'error', 'debug', 'trace', 'dir', 'table'])
    tap(console, method, { before: (args) => hear(format(...args)) })
  for (const stream of [process.stdout, process.stderr])
    tap(stream, 'write', { before: ([chunk]) => hearChunk(chunk, hear) })
  watchChildren(hear)
}

function watchChildren(hear: Hear): void {
  const redirected = new WeakSet<object>()
  tap(ChildProcess.prototype, 'spawn', {
    // What a child would write to our own output goes through our hands instead.
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
        tap(from, 'push', { before: ([chunk]) => hearChunk(chunk, hear) })
        if (isObject(options) && redirected.has(options)) from.on('data', (chunk) => to.write(chunk))
      }
    },
  })
}

function watchErrorBodies(hear: Hear): void {
  tap(Response, 'json', {
    before([body, init]) {
      if (isObject(init) && 'status' in init && Number(init.status) >= 400) hear(JSON.stringify(body))
    },
  })
  for (const method of ['write', 'end']) {
    tap(ServerResponse.prototype, method, {
      before([chunk], response) {
        if (response instanceof ServerResponse && response.statusCode >= 400) hearChunk(chunk, hear)
      },
    })
  }
  // As tRPC puts them into batches and into messages over WebSocket.
  tap(JSON, 'stringify', {
    after(text, [value]) {
      const answers = Array.isArray(value) ? value : [value]
      if (answers.some((answer) => isObject(answer) && 'error' in answer)) hear(String(text))
    },
  })
}

function watchUrls(hear: Hear): void {
  tap(Request.prototype, 'url', { after: (url) => hear(decode(String(url))) }, 'get')
  tap(Server.prototype, 'emit', {
    before([event, request]) {
      if ((event === 'request' || event === 'upgrade') && isObject(request) && 'url' in request)
        hear(decode(String(request.url)))
    },
  })
  subscribe('undici:request:create', (message) => {
    if (isObject(message) && 'request' in message && isObject(message.request) && 'path' in message.request)
      hear(decode(String(message.request.path)))
  })
}

function watchDatabases(hear: Hear): ReturnType<typeof watchPlaces> {
  const open = new Set<Database.Database>()
  tap(Database.prototype, 'prepare', {
    before: (_args, database) =>
      void (database instanceof Database && !database.readonly && open.add(database)),
  })
  tap(Database.prototype, 'close', {
    before(_args, database) {
      if (!(database instanceof Database) || !open.delete(database) || !database.open) return
      // Of several connections to a file the last that is closed will do.
      const isLast = database.memory || [...open].every(({ name }) => name !== database.name)
      if (isLast) read(database)
    },
  })

  function read(database: Database.Database): void {
    // One that could not be opened, or that is closed, has been read.
    if (!database.open) return
    if (database.memory) {
      hear(database.serialize())
      return
    }
    for (const file of [database.name, `${database.name}-wal`]) if (existsSync(file)) hear(readFileSync(file))
  }
  return { readOpenDatabases: () => open.forEach(read), forgetDatabases: () => open.clear() }
}

function hearChunk(chunk: unknown, hear: Hear): void {
  if (typeof chunk === 'string' || chunk instanceof Uint8Array) hear(chunk)
}

/** With the spaces and other characters that it stands for. */
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
