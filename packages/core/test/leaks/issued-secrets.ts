/** What may be issued that nobody else must read. */
export type SecretKind = 'random secret' | 'family key' | 'JWT' | 'private key' | 'cookie' | 'password'

/** A secret in a text. */
export interface Finding {
  readonly secret: SecretKind
  /** What stands before it. */
  readonly after: string
}

/** Everything secret that was issued so far, and the search for it. */
export interface IssuedSecrets {
  /** A secret in base64url. Of a JWT the signature counts, of a cookie what follows the last dot. */
  add(kind: Exclude<SecretKind, 'password'>, value: string): void
  addPassword(password: string): void
  /** The secrets in a text, or in the bytes of a file. */
  find(text: string | Uint8Array): Finding[]
  forget(): void
}

/** So many characters of a secret are enough to know it by, and every one of ours is longer. */
const KNOWN_BY = 42
const MAYBE_SECRETS = new RegExp(`[\\w-]{${KNOWN_BY},}`, 'g')

/**
 * Passwords that are rejected and stand in many a text: shorter ones, a word of our messages and tables, and the email address.
 */
const NO_PASSWORD = /^(.{0,7}|password|\S+@\S+)$/su

export function createIssuedSecrets(): IssuedSecrets {
  const kinds = new Map<string, SecretKind>()
  const passwords = new Set<string>()

  return {
    add(kind, value) {
      const secret = value.slice(value.lastIndexOf('.') + 1)
      const known = secret.slice(0, KNOWN_BY)
      // What is put into a cookie has a name already; a key of a family is random like any secret until it is used as one.
      if (known.length === KNOWN_BY && (!kinds.has(known) || kind === 'family key')) kinds.set(known, kind)
    },
    addPassword(password) {
      if (!NO_PASSWORD.test(password)) passwords.add(toBytes(password))
    },
    find(text) {
      const bytes = toBytes(text)
      const findings: Finding[] = []
      for (const { 0: run, index } of bytes.matchAll(MAYBE_SECRETS)) {
        for (let at = 0; at + KNOWN_BY <= run.length; at++) {
          const secret = kinds.get(run.slice(at, at + KNOWN_BY))
          if (secret !== undefined) findings.push({ secret, after: before(bytes, index + at) })
        }
      }
      for (const password of passwords) {
        const at = bytes.indexOf(password)
        if (at !== -1) findings.push({ secret: 'password', after: before(bytes, at) })
      }
      return findings
    },
    forget() {
      kinds.clear()
      passwords.clear()
    },
  }
}

/** One character a byte, as neither a file nor a text of another encoding is to be searched in any other way. */
function toBytes(text: string | Uint8Array): string {
  return Buffer.from(text).toString('latin1')
}

/** Not the secret itself, which would then stand in a log. */
function before(bytes: string, at: number): string {
  return bytes.slice(Math.max(0, at - 40), at).replace(/[^ -~]+/g, ' ')
}
