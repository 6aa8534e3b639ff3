import { readFileSync } from 'node:fs'

export type SqliteLibrary = 'better-sqlite3' | 'libsql' | 'node:sqlite' | 'bun:sqlite'

/** Native modules that contain SQLite, such as `better-sqlite3/prebuilds/linux-x64.node`. */
const NATIVE_MODULE = /^[^/].*(sqlite|libsql|turso).*\.node$|(sqlite|libsql)[^/]*\.node$|libsqlite3\.so/

/** Returns the SQLite libraries that this process has loaded, each with a separate copy of SQLite. */
export function loadedLibraries(): string[] {
  // The folders of the app may have any names.
  const names = [...new Set(sharedObjects())]
    .map((path) => path.split('/node_modules/').at(-1) ?? path)
    .filter((path) => NATIVE_MODULE.test(path))
    .map((path) => {
      if (/better[-_]sqlite3/.test(path)) return 'better-sqlite3'
      return path.includes('libsql') ? 'libsql' : path
    })
  if ('bun' in process.versions) names.push('bun:sqlite')
  if (builtinModules().includes('NativeModule sqlite')) names.push('node:sqlite')
  return names
}

function sharedObjects(): string[] {
  if (process.platform === 'linux')
    return readFileSync('/proc/self/maps', 'utf8')
      .split('\n')
      .map((line) => line.slice(line.indexOf('/')))
  // The report would otherwise look up the names of all peers.
  const report = Object.assign(process.report, { excludeNetwork: true })
  const written: unknown = report.getReport()
  const isReport = typeof written === 'object' && written !== null && 'sharedObjects' in written
  return isReport && Array.isArray(written.sharedObjects) ? written.sharedObjects.map(String) : []
}

/** Node lists the built-in modules that are loaded in an undocumented member. */
function builtinModules(): readonly unknown[] {
  return 'moduleLoadList' in process && Array.isArray(process.moduleLoadList) ? process.moduleLoadList : []
}
