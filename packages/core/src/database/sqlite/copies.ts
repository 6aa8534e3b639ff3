import { existsSync, fstatSync, readdirSync, statSync } from 'node:fs'
import { ConfigurationError } from '../../protocol/errors.ts'
import { loadedLibraries, type SqliteLibrary } from './libraries.ts'

/** The files that our stores have open, by inode, with the library of each connection. */
const openFiles = new Map<string, SqliteLibrary[]>()

/** The other libraries about which a warning was written. */
const warned = new Set<string>()

export interface OpenFile {
  readonly path: string
  readonly library: SqliteLibrary
  /** How many of its descriptors belong to the client that the app gave us. @default 0 */
  readonly ofClient?: number
}

/**
 * Two copies of SQLite in one process ignore each other's locks, and lose writes. Checks that only `library`
 * has the file open, as far as the process shows it. Call the returned function after the first read.
 * @throws ConfigurationError if another library has the file open
 */
export function requireOneCopy(file: OpenFile): () => void {
  const { path, library, ofClient = 0 } = file
  const inode = inodeOf(path)
  const ours = (inode !== null && openFiles.get(inode)) || []
  const conflicting = ours.find((other) => other !== library)
  if (conflicting !== undefined) throw twoCopies(file, [conflicting])
  const loaded = loadedLibraries()
  const copies = loaded.filter((name) => name === library).length
  const others = loaded.filter((other, index) => other !== library || loaded.indexOf(other) !== index)
  if (loaded.length === 0) return () => {}
  if (process.platform !== 'linux') {
    if (others.length > 0) warnOnce(file, others)
    return () => {}
  }
  const hasUnknown = inode !== null && descriptorsOf(inode) > ours.length + ofClient
  if (hasUnknown && !loaded.includes(library)) throw twoCopies(file, others)
  return () => {
    // Another version of the same library.
    if (hasUnknown && copies > 0 && loadedLibraries().filter((name) => name === library).length > copies)
      throw twoCopies(file, [library])
    if (others.length === 0) return
    // In WAL mode, all connections of one copy share one descriptor of the file's shared memory.
    const shared = inodeOf(`${path}-shm`)
    if (shared !== null && descriptorsOf(shared) > 1) throw twoCopies(file, others)
    if (shared === null && hasUnknown) warnOnce(file, others)
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
export function recordConnections({ path, library }: OpenFile, count: number): () => void {
  const inode = inodeOf(path)
  if (inode === null) return () => {}
  openFiles.set(inode, [...(openFiles.get(inode) ?? []), ...Array<SqliteLibrary>(count).fill(library)])
  let isRecorded = true
  return () => {
    if (!isRecorded) return
    isRecorded = false
    const rest = (openFiles.get(inode) ?? []).slice()
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

function warnOnce({ path, library }: OpenFile, others: readonly string[]): void {
  const names = others.join(', ')
  if (warned.has(names)) return
  warned.add(names)
  console.warn(
    `sallyport: this process has loaded ${names} beside ${library}. If it opens ${path} too, writes can be lost. Open the file with one library, and pass its client: { client }.`,
  )
}

function inodeOf(path: string): string | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats === undefined ? null : `${stats.dev}:${stats.ino}`
}

/** Returns how many descriptors this process has open on a file. */
function descriptorsOf(inode: string): number {
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
