import { readFileSync } from 'node:fs'

export type SqliteLibrary = 'better-sqlite3' | 'libsql' | 'node:sqlite' | 'bun:sqlite'

/** Native modules that contain SQLite, such as `better-sqlite3/prebuilds/linux-x64.node`. */
const NATIVE_MODULE =
  /^[^/].*(sqlite|libsql|turso).*\.node$|(sqlite|libsql|query_engine)[^/]*\.node$|libsqlite3\.so/

/** Returns the SQLite libraries that this process has loaded, each with a separate copy of SQLite. */
export function loadedLibraries(): string[] {
  const names = sharedObjects()
    // The folders of the app may have any names.
    .map((path) => path.split('/node_modules/').at(-1) ?? path)
    .filter((path) => NATIVE_MODULE.test(path))
    .map((path) => {
      if (/better[-_]sqlite3/.test(path)) return 'better-sqlite3'
      if (path.includes('query_engine')) return "Prisma's query engine"
      return path.includes('libsql') ? 'libsql' : path
    })
  if ('bun' in process.versions) names.push('bun:sqlite')
  if (builtinModules().includes('NativeModule sqlite')) names.push('node:sqlite')
  return names
}

/** Returns the loaded copies of SQLite but that of `library`, of which there may be two versions. */
export function otherCopies(library: SqliteLibrary): string[] {
  const names = loadedLibraries()
  const index = names.indexOf(library)
  return names
    .filter((_, i) => i !== index)
    .map((name) => (name === library ? `another copy of ${name}` : name))
}

/** Returns the path of each file of code that this process has loaded. */
function sharedObjects(): string[] {
  if (process.platform === 'linux') {
    const lines = readFileSync('/proc/self/maps', 'utf8').split('\n')
    return [...new Set(lines.map((line) => line.slice(line.indexOf('/'))))]
  }
  // The report would otherwise look up the names of all peers.
  const report = Object.assign(process.report, { excludeNetwork: true })
  const written: unknown = report.getReport()
  const isReport = typeof written === 'object' && written !== null && 'sharedObjects' in written
  return isReport && Array.isArray(written.sharedObjects)
    ? [...new Set(written.sharedObjects.map(String))]
    : []
}

/** Node lists the built-in modules that are loaded in an undocumented member. */
function builtinModules(): readonly unknown[] {
  return 'moduleLoadList' in process && Array.isArray(process.moduleLoadList) ? process.moduleLoadList : []
}
