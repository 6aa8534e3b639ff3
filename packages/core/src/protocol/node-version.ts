/** As `engines` in package.json. On Node 20, better-sqlite3 crashes the process without an error. */
const [MIN_MAJOR, MIN_MINOR] = [22, 14]

/** Returns what is wrong with this version of Node, or null. */
export function nodeVersionFault(version: string = process.versions.node): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > MIN_MAJOR || (major === MIN_MAJOR && minor >= MIN_MINOR)) return null
  return `Sallyport needs Node ${MIN_MAJOR}.${MIN_MINOR} or later, and this is Node ${version}. Install a newer one.`
}
