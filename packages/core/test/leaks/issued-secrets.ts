/** The kinds of issued secrets. */
export type SecretKind = 'random secret' | 'family key' | 'JWT' | 'private key' | 'cookie' | 'password'

/** A secret in a text. */
export interface Finding {
  readonly secret: SecretKind
  /** The text that precedes it. */
  readonly after: string
}

/** Stores all secrets issued so far, and searches texts for them. */
export interface IssuedSecrets {
  /**
   * Adds a secret in base64url. Of a JWT, only the signature; of a cookie, only the part after the last dot.
   */
  add(kind: Exclude<SecretKind, 'password'>, value: string): void
  addPassword(password: string): void
  /** Returns the secrets in a text, or in the bytes of a file. */
  find(text: string | Uint8Array): Finding[]
  forget(): void
}

/** This many characters identify a secret. Every secret is longer. */
const KNOWN_BY = 42
const MAYBE_SECRETS = new RegExp(`[\\w-]{${KNOWN_BY},}`, 'g')

/**
 * Rejected passwords that appear in many texts: short ones, a word in messages and tables, and the email
 * address.
 */
const NO_PASSWORD = /^(.{0,7}|password|\S+@\S+)$/su

export function createIssuedSecrets(): IssuedSecrets {
  const kinds = new Map<string, SecretKind>()
  const passwords = new Set<string>()

  return {
    add(kind, value) {
      const secret = value.slice(value.lastIndexOf('.') + 1)
      const known = secret.slice(0, KNOWN_BY)
      // The value of a cookie already has a kind. A family key is a random secret until it is used as a key.
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

/** Maps each byte to one character, so files and texts of any encoding can be searched. */
function toBytes(text: string | Uint8Array): string {
  return Buffer.from(text).toString('latin1')
}

/** Returns the text before a secret, without the secret, which would leak it into the log. */
function before(bytes: string, at: number): string {
  return bytes.slice(Math.max(0, at - 40), at).replace(/[^ -~]+/g, ' ')
}
