/** Drivers and other packages with native code, which no bundle holds. */
const NATIVE =
  /^(better-sqlite3|sqlite3|pg|pg-native|mysql2?|mongodb|@libsql\/client|@prisma\/client|@node-rs\/[^/]+|argon2|bcrypt|sharp)(\/|$)/

/** Whether a bundle leaves an import as it is. What belongs to Node stays outside by itself. */
export function isExternal(id: string): boolean {
  return NATIVE.test(id) || id.endsWith('.node')
}
