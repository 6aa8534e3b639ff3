import { createPrivateKey, sign } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { until } from '../../../core/test/support/until.ts'
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
  /** Publishes a key, and waits until every node has read the file. */
  publish(): Promise<void>
  /** Publishes a key, and makes it sign. Returns the key that retires. */
  rotate(): Promise<StoredKey>
  /** Removes an unused retired key by moving the file's handover time into the past. */
  drop(key: StoredKey): void
}

/**
 * @param options.isAccepted whether every node accepts JWTs of a key
 * @param options.jwtLifetimeSeconds the nodes' setting
 */
export function followKeys(
  path: string,
  options: { isAccepted: (key: StoredKey) => Promise<boolean>; jwtLifetimeSeconds: number },
): KeyHistory {
  const gone: StoredKey[] = []
  const read = (): StoredKey[] => JSON.parse(readFileSync(path, 'utf8')).keys

  const find = (wanted: string): StoredKey => {
    const found = read().findLast(({ state }) => state === wanted)
    if (found === undefined) throw new TypeError(`There is no ${wanted} key`)
    return found
  }

  async function publish(): Promise<void> {
    await sallyport('keys', 'create', '--key-file', path)
    await until(() => options.isAccepted(find('next')))
  }

  return {
    get active() {
      return find('active')
    },
    gone,
    publish,
    async rotate() {
      await publish()
      const retiring = find('active')
      const lifetime = ['--jwt-lifetime', String(options.jwtLifetimeSeconds)]
      await sallyport('keys', 'rotate', '--force', '--key-file', path, ...lifetime)
      return retiring
    },
    drop({ kid }) {
      const since = new Date(0).toISOString()
      gone.push(...read().filter((key) => key.kid === kid))
      const keys = read().map((key) => (key.kid === kid ? { ...key, since } : key))
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
