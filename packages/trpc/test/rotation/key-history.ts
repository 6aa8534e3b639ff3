import { createPrivateKey, sign } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { sallyport } from '../support/sallyport.ts'
import { BASE_URL } from './load.ts'
import type { User } from './users.ts'

/** A key from the key file, with its private half. */
export interface StoredKey {
  readonly kid: string
  readonly alg: string
  readonly d: string
  readonly x: string
  readonly state: string
  readonly since: string
}

/** A rotated key file with all keys that it ever had, as an attacker may have kept them. */
export interface KeyHistory {
  /** The signing key. */
  readonly active: StoredKey
  /** Keys that retired and were removed. */
  readonly gone: readonly StoredKey[]
  /** When the second to last key retired, by `performance.now()`. */
  readonly lastButOneRetiredAt: number
  /** Publishes a key, waits until every node has read it, and makes it sign. */
  rotate(): Promise<void>
  /** Removes unused retired keys by moving the file's handover time into the past. */
  dropUnused(): void
}

/**
 * @param options.allNodesReadMs the time in which every node reads the file
 * @param options.jwtLifetimeSeconds the nodes' setting
 */
export function followKeys(
  path: string,
  { allNodesReadMs, jwtLifetimeSeconds }: { allNodesReadMs: number; jwtLifetimeSeconds: number },
): KeyHistory {
  const retired = new Map<string, { key: StoredKey; at: number }>()
  const gone: StoredKey[] = []
  const read = (): StoredKey[] => JSON.parse(readFileSync(path, 'utf8')).keys

  return {
    get active() {
      const active = read().find(({ state }) => state === 'active')
      if (active === undefined) throw new TypeError('There is no active key')
      return active
    },
    gone,
    get lastButOneRetiredAt() {
      return [...retired.values()].at(-2)?.at ?? 0
    },
    async rotate() {
      await sallyport('keys', 'create', '--key-file', path)
      await sleep(allNodesReadMs)
      const lifetime = ['--jwt-lifetime', String(jwtLifetimeSeconds)]
      await sallyport('keys', 'rotate', '--force', '--key-file', path, ...lifetime)
      for (const key of read())
        if (key.state === 'retiring' && !retired.has(key.kid))
          retired.set(key.kid, { key, at: performance.now() })
    },
    dropUnused() {
      const unusedSince = performance.now() - jwtLifetimeSeconds * 1000 - allNodesReadMs
      const keys = read().map((key) => {
        if ((retired.get(key.kid)?.at ?? Number.POSITIVE_INFINITY) > unusedSince) return key
        if (!gone.some(({ kid }) => kid === key.kid)) gone.push(key)
        return { ...key, since: new Date(0).toISOString() }
      })
      writeFileSync(`${path}.new`, JSON.stringify({ keys }), { mode: 0o600 })
      renameSync(`${path}.new`, path)
    },
  }
}

/** Signs the JWT that a node would issue now, with `node:crypto`. */
export function forgeJwt({ kid, alg, x, d }: StoredKey, { userId, sessionId }: User): string {
  const iat = Math.floor(Date.now() / 1000)
  const times = { iat, exp: iat + 60, jti: 'forged' }
  const registered = { iss: BASE_URL, aud: BASE_URL, sub: userId, version: 1, ...times }
  const input = [
    { alg, typ: 'at+jwt', kid },
    { ...registered, sessionId, userId },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const privateKey = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', x, d }, format: 'jwk' })
  return `${input}.${sign(null, Buffer.from(input), privateKey).toString('base64url')}`
}
