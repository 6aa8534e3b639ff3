import { existsSync, fstatSync, readdirSync, statSync } from 'node:fs'
import { ConfigurationError } from '../../../protocol/errors.ts'
import type { Problem } from '../../schema/inspect.ts'
import { otherCopies, type SqliteLibrary } from './libraries.ts'

/** The files that our stores have open, by inode, with the library of each connection. */
const openFiles = new Map<string, SqliteLibrary[]>()

export interface OpenFile {
  readonly path: string
  readonly library: SqliteLibrary
  /** Whether this process had loaded the library before, so the app may have the file open with it. */
  readonly wasLoaded: boolean
  /** How many of its descriptors belong to the client that the app gave us. @default 0 */
  readonly ofClient?: number
}

/** Watches a file for other copies of SQLite. */
interface CopyWatch {
  /** Call it after the first read. @throws ConfigurationError if another library has the file open */
  requireOne(): void
  /** Returns signs that another library has opened the file since, or may have it open. */
  problems(): Problem[]
  /** Returns whether the path leads to another file than when the watch began, or to none. */
  isReplaced(): boolean
}

/**
 * Two copies of SQLite in one process ignore each other's locks, and lose writes. Checks that only `library`
 * has the file open, as far as the process shows it.
 * @throws ConfigurationError if another library has the file open
 */
export function watchCopies(file: OpenFile): CopyWatch {
  const { path, library } = file
  const opened = inodeOf(path)
  const conflicting = connectionsTo(opened).find((other) => other !== library)
  if (conflicting !== undefined) throw twoCopies(file, [conflicting])
  const before = findCopies(file)
  if (before.unknown > 0 && !file.wasLoaded) throw twoCopies(file, before.others)
  // The descriptors may be of either library. In WAL mode, that shows once each has read.
  const wasUnclear = before.unknown > 0 && before.sharing === 0
  return {
    isReplaced() {
      try {
        return inodeOf(path) !== opened
      } catch {
        // The folder can't be read. What is open still works.
        return false
      }
    },
    requireOne() {
      const { others, sharing } = findCopies(file)
      if (sharing > 1) throw twoCopies(file, others)
    },
    problems() {
      const { others, unknown, sharing } = findCopies(file)
      const isUnclear = process.platform !== 'linux' || (unknown > 0 && (wasUnclear || sharing === 0))
      if (others.length === 0 || (sharing <= 1 && !isUnclear)) return []
      const names = others.join(' or ')
      const { path, library } = file
      const problem =
        sharing > 1
          ? `${names} has ${path} open in this process beside ${library}, so writes are lost.`
          : `This process has loaded ${names} beside ${library}. If it opens ${path} too, writes can be lost.`
      return [{ problem, fix: 'Open the file with one library, and pass its client: { client }.' }]
    },
  }
}

/** Returns the libraries of our connections to a file. */
function connectionsTo(inode: string | null): readonly SqliteLibrary[] {
  return openFiles.get(inode ?? '') ?? []
}

/** What this process shows about other copies of SQLite. Only Linux lists the descriptors. */
interface Copies {
  readonly others: readonly string[]
  /** How many descriptors of the file are neither ours nor of the app's client. */
  readonly unknown: number
  /** How many copies of SQLite share memory for the file, each with one descriptor. 0 without WAL mode. */
  readonly sharing: number
}

function findCopies({ path, library, ofClient = 0 }: OpenFile): Copies {
  const others = otherCopies(library)
  if (others.length === 0 || process.platform !== 'linux') return { others, unknown: 0, sharing: 0 }
  const inode = inodeOf(path)
  return {
    others,
    unknown: descriptorsOf(inode) - connectionsTo(inode).length - ofClient,
    sharing: descriptorsOf(inodeOf(`${path}-shm`)),
  }
}

/** @throws ConfigurationError for an embedded replica of libsql, which learns of revocations when it syncs */
export function rejectReplica(path: string): void {
  if (!existsSync(`${path}-info`) && !existsSync(`${path}-client_wal_index`)) return
  throw new ConfigurationError(
    `${path} is an embedded replica, which would accept sessions that another process has revoked. Pass a client of @libsql/client for the server.`,
  )
}

/** Records our connections until the returned function is called. */
export function recordConnections(
  { path, library }: Pick<OpenFile, 'path' | 'library'>,
  count: number,
): () => void {
  const inode = inodeOf(path)
  if (inode === null) return () => {}
  openFiles.set(inode, [...connectionsTo(inode), ...Array<SqliteLibrary>(count).fill(library)])
  let isRecorded = true
  return () => {
    if (!isRecorded) return
    isRecorded = false
    const rest = [...connectionsTo(inode)]
    for (let i = 0; i < count; i++) rest.splice(rest.indexOf(library), 1)
    if (rest.length === 0) openFiles.delete(inode)
    else openFiles.set(inode, rest)
  }
}

function twoCopies({ path, library }: OpenFile, others: readonly string[]): ConfigurationError {
  return new ConfigurationError(
    `${others.join(' or ')} has ${path} open in this process, and ${library} would be a second copy of SQLite, which ignores its locks and loses writes. Pass the app's own client: { client }.`,
  )
}

function inodeOf(path: string): string | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats === undefined ? null : `${stats.dev}:${stats.ino}`
}

/** Returns how many descriptors this process has open on a file. */
function descriptorsOf(inode: string | null): number {
  if (inode === null) return 0
  return readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      const { dev, ino } = fstatSync(Number(descriptor), { bigint: true })
      return `${dev}:${ino}` === inode
    } catch {
      // Closed since, like the one that read the directory.
      return false
    }
  }).length
}
