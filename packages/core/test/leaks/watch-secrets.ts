import nodeCrypto from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { createRequire } from 'node:module'
import type { IssuedSecrets, SecretKind } from './issued-secrets.ts'
import { tap } from './tap.ts'

const PASSWORD_FIELDS = new Set(['password', 'currentPassword', 'newPassword'])

/** Reports every secret where it is created, received, or passed on. */
export function watchSecrets(secrets: IssuedSecrets): void {
  tap(Crypto.prototype, 'getRandomValues', {
    after: (bytes) => bytes instanceof Uint8Array && addBytes('random secret', bytes),
  })
  tap(SubtleCrypto.prototype, 'sign', {
    after(signature, [, , input]) {
      if (input instanceof Uint8Array && startsLikeJwt(input))
        whenDone(signature, (value) => addBytes('JWT', value))
    },
  })
  tap(SubtleCrypto.prototype, 'exportKey', { after: (key) => whenDone(key, addPrivateKey) })
  tap(SubtleCrypto.prototype, 'importKey', { before: ([, key]) => addPrivateKey(key) })
  // A secret used as a key like this isn't a session's secret, but the family key.
  tap(nodeCrypto, 'createHmac', { before: ([, key]) => addBytes('family key', key) })
  for (const method of ['append', 'set']) {
    tap(Headers.prototype, method, { before: ([name, value]) => addCookie(String(name), String(value)) })
  }
  // Secrets in responses of servers in other processes.
  subscribe('undici:request:headers', (message) => {
    const { response } = message as { response: { headers: Uint8Array[] } }
    const texts = response.headers.map(String)
    for (let i = 0; i < texts.length; i += 2) addCookie(texts[i] ?? '', texts[i + 1] ?? '')
  })

  tap(JSON, 'stringify', { before: ([value]) => addPasswords(value) })
  const require = createRequire(import.meta.resolve('@sallyport/core/plugins/email-password'))
  const argon2: object = require('@node-rs/argon2')
  tap(argon2, 'hash', { before: ([password]) => secrets.addPassword(String(password)) })
  tap(argon2, 'verify', { before: ([, password]) => secrets.addPassword(String(password)) })

  function addBytes(kind: Exclude<SecretKind, 'password'>, value: unknown): void {
    if (value instanceof ArrayBuffer || value instanceof Uint8Array)
      secrets.add(kind, Buffer.from(new Uint8Array(value)).toString('base64url'))
  }

  function addPrivateKey(key: unknown): void {
    if (isObject(key) && 'd' in key) secrets.add('private key', String(key.d))
  }

  function addCookie(name: string, header: string): void {
    const [, value] = header.split(';')[0]?.split('=') ?? []
    if (name.toLowerCase() === 'set-cookie' && value !== undefined) secrets.add('cookie', value)
  }

  /** Passwords in requests to an endpoint, also in batched calls. */
  function addPasswords(value: unknown, depth = 0): void {
    if (!isObject(value) || Array.isArray(value)) return
    for (const [name, member] of Object.entries(value)) {
      if (typeof member === 'string' && PASSWORD_FIELDS.has(name)) secrets.addPassword(member)
      else if (depth === 0) addPasswords(member, depth + 1)
    }
  }
}

function startsLikeJwt(input: Uint8Array): boolean {
  return Buffer.from(input.subarray(0, 3)).toString() === 'eyJ'
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Reports the result of a promise. The caller handles a failure. */
function whenDone(promise: unknown, receive: (value: unknown) => void): void {
  if (promise instanceof Promise) promise.then(receive, () => {})
}
