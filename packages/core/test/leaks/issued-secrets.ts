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
/** By byte. */
const IS_BASE64URL = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(/[\w-]/.test(String.fromCharCode(byte))),
)

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
      if (!NO_PASSWORD.test(password)) passwords.add(password)
    },
    find(text) {
      const bytes = Buffer.from(text)
      const findings: Finding[] = []
      for (const { start, end } of maybeSecrets(bytes)) {
        for (let at = start; at + KNOWN_BY <= end; at++) {
          const secret = kinds.get(bytes.toString('latin1', at, at + KNOWN_BY))
          if (secret !== undefined) findings.push({ secret, after: before(bytes, at) })
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

/** Finds the runs of base64url that are long enough. Each has a byte at a multiple of that length. */
function* maybeSecrets(bytes: Buffer): Generator<{ start: number; end: number }> {
  for (let at = 0; at < bytes.length; at += KNOWN_BY) {
    if (!IS_BASE64URL[bytes[at] ?? 0]) continue
    let start = at
    while (IS_BASE64URL[bytes[start - 1] ?? 0]) start--
    let end = at
    while (IS_BASE64URL[bytes[end] ?? 0]) end++
    if (end - start >= KNOWN_BY) yield { start, end }
    while (at + KNOWN_BY < end) at += KNOWN_BY
  }
}

/** Returns the text before a secret, without the secret, which would leak it into the log. */
function before(bytes: Buffer, at: number): string {
  return bytes.toString('latin1', Math.max(0, at - 40), at).replace(/[^ -~]+/g, ' ')
}
