import { createFailureSource } from '../events/failure-source.ts'
import { createKeyRing, type KeyRing, withoutGone } from '../keys/key-ring.ts'
import { formatKeyRing } from '../keys/key-ring-json.ts'
import type { Algorithm, KeySet } from '../keys/key-set.ts'
import { createLiveKeys } from '../keys/live-keys.ts'
import { createSigningKey, ringSigningKeys, type SigningKeys } from '../keys/signing-keys.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { JWT_LIFETIME_SECONDS } from '../protocol.ts'
import { fs, type KeyStore, keyFileStore } from './key-store.ts'

export interface KeyFileOptions {
  /** The algorithm of the first key, if the file doesn't exist. @default 'Ed25519' */
  algorithm?: Algorithm
  /** `jwt.expiresInSeconds`, if you change it. A retiring key verifies for a minute longer. @default 900 */
  jwtLifetimeSeconds?: number
  /** How often to check the file, in milliseconds. @default 500 */
  pollMs?: number
}

/** The current keys of a key file. */
export interface KeyFile {
  readonly jwks: KeySet
  readonly signingKeys: SigningKeys
  close(): void
}

/**
 * Opens a key file and watches it: changes by `sallyport keys` apply within a second, without a restart.
 * Creates the file with a first key if it doesn't exist, once even if several processes start together.
 * @throws ConfigurationError if the file isn't a key ring
 */
export async function openKeyFile(path: string, options: KeyFileOptions = {}): Promise<KeyFile> {
  const { algorithm, jwtLifetimeSeconds = JWT_LIFETIME_SECONDS, pollMs = 500 } = options
  // The app may change the working directory.
  const store = keyFileStore(process.getBuiltinModule('node:path').resolve(path))
  if (store.read() === null) store.create(createKeyRing(await createSigningKey(algorithm), new Date()))

  const live = createLiveKeys()
  const failures = createFailureSource()
  const fail = (error: unknown) => failures.fail('KEY_FILE_INVALID', error)
  // Taken before the file is read, so the next poll sees a change in between.
  let seen = fingerprint(store.path)
  let ring = readRing(store)
  let used = ''
  let failed = ''
  let signingKeys = ringSigningKeys(ring)

  /** Called by every poll, because retired keys also expire when the file doesn't change. */
  async function use(candidate: KeyRing): Promise<void> {
    const present = withoutGone(candidate, { now: new Date(), jwtLifetimeSeconds })
    const formatted = formatKeyRing(present)
    if (formatted !== used) {
      const next = ringSigningKeys(present)
      // A key that can't sign must not replace one that can.
      await next.active.cryptoKey()
      await live.replace(next.publicJwks.keys, next.publicJwks.revoked ?? [])
      signingKeys = next
      used = formatted
    }
    ring = candidate
  }

  async function poll(): Promise<void> {
    let current = ''
    try {
      current = fingerprint(store.path)
      await use(current === seen ? ring : readRing(store))
      seen = current
      failed = ''
      failures.recover()
    } catch (error) {
      // The same content fails in every poll.
      const reading = `${current} ${error}`
      if (reading !== failed) fail(error)
      failed = reading
      await use(ring)
    }
  }

  await use(ring)
  const timer = setInterval(() => void poll().catch(fail), pollMs)
  timer.unref()
  return {
    jwks: Object.assign(live, { failures }),
    signingKeys: {
      get active() {
        return signingKeys.active
      },
      get publicJwks() {
        return signingKeys.publicJwks
      },
    },
    close: () => clearInterval(timer),
  }
}

function readRing(store: KeyStore): KeyRing {
  const ring = store.read()
  if (ring === null)
    throw new ConfigurationError(`${store.path} not found. The last known keys stay in use. Restore it.`)
  return ring
}

function fingerprint(path: string): string {
  const found = fs().statSync(path, { throwIfNoEntry: false })
  return found === undefined ? 'not found' : `${found.mtimeMs} ${found.size} ${found.ino}`
}
