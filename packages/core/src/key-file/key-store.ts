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

/** A command that died left an older lock behind. */
const STALE_LOCK_MS = 10_000

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
      // An example of an env file has blank values.
      return !signingKeys?.trim() ? null : parseKeyRing(signingKeys, `${names.signingKeys} in ${path}`)
    },
    format: (ring, text) => {
      const others = text.replace(VARIABLE, (whole, name) =>
        name === names.jwks || name === names.signingKeys ? '' : whole,
      )
      return `${others}${others === '' || others.endsWith('\n') ? '' : '\n'}${formatEnv(ring, prefix)}\n`
    },
  })
}

/** A variable of an env file as `parseEnv` reads it: a quoted value can have several lines. */
const VARIABLE = /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*(?:'[^']*'|"[^"]*"|`[^`]*`)?[^\n]*\n?/gm

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
  const readText = () => (fs().existsSync(path) ? fs().readFileSync(path, 'utf8') : null)

  function read(): KeyRing | null {
    const text = readText()
    return text === null ? null : parse(text)
  }

  function replace(ring: KeyRing): void {
    const target = targetOf(path)
    fs().renameSync(writeDraft(target, format(ring, readText() ?? '')), target)
  }

  /** If several processes start at once, the first wins. */
  function link(ring: KeyRing): boolean {
    const draft = writeDraft(path, format(ring, ''))
    try {
      fs().linkSync(draft, path)
      return true
    } catch (error) {
      if (fs().existsSync(path)) return false
      throw error
    } finally {
      fs().unlinkSync(draft)
    }
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

/** Follows a symbolic link: replacing the link would leave its target with the old keys. */
function targetOf(path: string): string {
  return fs().existsSync(path) ? fs().realpathSync(path) : path
}

function writeDraft(path: string, text: string): string {
  // Not a process id: two containers that share the folder can have the same.
  const draft = `${path}.${crypto.randomUUID()}.draft`
  fs().writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true })
  fs().chmodSync(draft, 0o600)
  return draft
}

/** Locks the file, because concurrent changes would overwrite each other. */
function locked<Result>(path: string, work: () => Result): Result {
  const lock = `${path}.lock`
  if (fs().existsSync(lock) && Date.now() - fs().statSync(lock).mtimeMs > STALE_LOCK_MS) fs().unlinkSync(lock)
  try {
    fs().closeSync(fs().openSync(lock, 'wx'))
  } catch (cause) {
    throw new ConfigurationError(
      `${lock} exists: another command is changing the keys. Run this one again.`,
      { cause },
    )
  }
  try {
    return work()
  } finally {
    fs().unlinkSync(lock)
  }
}
