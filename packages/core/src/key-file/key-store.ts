import { type KeyRing, publicKeys } from '../keys/key-ring.ts'
import { formatKeyRing, parseKeyRing } from '../keys/key-ring-json.ts'
import { ConfigurationError } from '../protocol/errors.ts'

/** Not imported, because `@sallyport/core/auth` must also load on the edge. */
export const fs: () => typeof import('node:fs') = () => process.getBuiltinModule('node:fs')

export interface KeyStore {
  readonly path: string
  /** Returns the ring, or null before the first. */
  read(): KeyRing | null
  /** Stores the first ring atomically. Returns false if one exists. */
  create(ring: KeyRing): boolean
  /** Replaces the ring atomically. */
  update(change: (ring: KeyRing) => KeyRing): KeyRing
}

/** A command that was killed left an older lock or draft behind. */
const STALE_MS = 10_000

/** Opens a file with only the ring, which only its owner can read. */
export function keyFileStore(path: string): KeyStore {
  return fileStore(path, {
    parse: (text) => parseKeyRing(text, path),
    format: (ring) => `${formatKeyRing(ring)}\n`,
  })
}

/** Opens an env file with the variables `JWKS` and `SIGNING_KEYS`, and keeps its other lines. */
export function envFileStore(path: string, prefix = ''): KeyStore {
  const names = variableNames(prefix)
  return fileStore(path, {
    parse: (text) => {
      const signingKeys = process.getBuiltinModule('node:util').parseEnv(text)[names.signingKeys]
      // In a copy of `.env.example`, values are blank.
      return signingKeys?.trim() ? parseKeyRing(signingKeys, `${names.signingKeys} in ${path}`) : null
    },
    format: (ring, text) => {
      // A shell that reads the file passes on only these.
      let exported = ''
      const others = text.replace(VARIABLE, (whole, start: string | undefined, name: string) => {
        if (name !== names.jwks && name !== names.signingKeys) return whole
        if (start !== undefined) exported = 'export '
        return ''
      })
      const lines = formatEnv(ring, prefix).replaceAll(/^/gm, exported)
      return `${others}${others === '' || others.endsWith('\n') ? '' : '\n'}${lines}\n`
    },
  })
}

/** A variable of an env file as `parseEnv` reads it: a quoted value can have several lines. */
const VARIABLE = /^[ \t]*(export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*(?:'[^']*'|"[^"]*"|`[^`]*`)?[^\n]*\n?/gm

export function formatEnv(ring: KeyRing, prefix = ''): string {
  const names = variableNames(prefix)
  return `${names.jwks}=${quote(JSON.stringify(publicKeys(ring)))}\n${names.signingKeys}=${quote(formatKeyRing(ring))}`
}

function variableNames(prefix: string): { jwks: string; signingKeys: string } {
  return { jwks: `${prefix}JWKS`, signingKeys: `${prefix}SIGNING_KEYS` }
}

/** A `kid` from elsewhere can have an apostrophe, which would end the value. */
function quote(json: string): string {
  return `'${json.replaceAll("'", '\\u0027')}'`
}

interface FileFormat {
  readonly parse: (text: string) => KeyRing | null
  readonly format: (ring: KeyRing, text: string) => string
}

function fileStore(path: string, { parse, format }: FileFormat): KeyStore {
  const readText = () => (exists(path) ? fs().readFileSync(path, 'utf8') : null)

  function read(): KeyRing | null {
    const text = readText()
    return text === null ? null : parse(text)
  }

  function replace(ring: KeyRing): void {
    const target = targetOf(path)
    withDraft({ path: target, text: format(ring, readText() ?? '') }, (draft) => {
      const { uid, gid } = fs().statSync(target)
      // Otherwise, the server couldn't read the file anymore, and would keep a leaked key.
      if (process.getuid?.() === 0) fs().lchownSync(draft, uid, gid)
      fs().renameSync(draft, target)
    })
  }

  /** If several processes start at once, the first wins. */
  function link(ring: KeyRing): boolean {
    return withDraft({ path, text: format(ring, '') }, (draft) => {
      try {
        fs().linkSync(draft, path)
        return true
      } catch (error) {
        if (fs().existsSync(path)) return false
        throw error
      }
    })
  }

  return {
    path,
    read,
    create(ring) {
      fs().mkdirSync(process.getBuiltinModule('node:path').dirname(path), { recursive: true })
      const text = readText()
      if (text !== null && parse(text) !== null) return false
      if (text === null) return link(ring)
      return locked(targetOf(path), () => {
        if (read() !== null) return false
        replace(ring)
        return true
      })
    },
    update(change) {
      return locked(targetOf(path), () => {
        const ring = read()
        if (ring === null)
          throw new ConfigurationError(`${path} has no keys yet. Run \`sallyport keys create\`.`)
        const changed = change(ring)
        replace(changed)
        return changed
      })
    },
  }
}

/** Unlike `existsSync`, doesn't take a file in a folder that this user can't search for a missing one. */
export function exists(path: string): boolean {
  return fs().statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Follows a symbolic link: replacing the link would leave its target with the old keys. */
function targetOf(path: string): string {
  return fs().existsSync(path) ? fs().realpathSync(path) : path
}

/** Writes private keys beside the file, and removes them if they can't take its place. */
function withDraft<Result>(
  { path, text }: { path: string; text: string },
  work: (draft: string) => Result,
): Result {
  // Not a process id: two containers that share the folder can have the same.
  const draft = `${path}.${crypto.randomUUID()}.draft`
  try {
    fs().writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true })
    fs().chmodSync(draft, 0o600)
    return work(draft)
  } finally {
    fs().rmSync(draft, { force: true })
  }
}

/** Locks the file, because concurrent changes would overwrite each other. */
function locked<Result>(path: string, work: () => Result): Result {
  const lock = `${path}.lock`
  try {
    removeStale(lock)
    fs().closeSync(fs().openSync(lock, 'wx'))
  } catch (cause) {
    throw new ConfigurationError(lockFault(lock, cause), { cause })
  }
  try {
    removeDrafts(path)
    return work()
  } finally {
    fs().unlinkSync(lock)
  }
}

function removeStale(file: string): void {
  const found = fs().statSync(file, { throwIfNoEntry: false })
  if (found && Date.now() - found.mtimeMs > STALE_MS) fs().rmSync(file, { force: true })
}

const DRAFT = /^[\da-f-]{36}\.draft$/

/** Removes drafts with private keys that killed commands have left. */
function removeDrafts(path: string): void {
  const { basename, dirname, join } = process.getBuiltinModule('node:path')
  const start = `${basename(path)}.`
  try {
    for (const name of fs().readdirSync(dirname(path)))
      if (name.startsWith(start) && DRAFT.test(name.slice(start.length)))
        removeStale(join(dirname(path), name))
  } catch {
    // This user may lack the right to, but must be able to revoke a key.
  }
}

function lockFault(lock: string, cause: unknown): string {
  const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST'
  if (isTaken) return `${lock} exists: another command is changing the keys. Run this one again.`
  const folder = process.getBuiltinModule('node:path').dirname(lock)
  return `The folder ${folder} can't be written (${cause}). Create it, or allow this user to write to it.`
}
