import { statSync } from 'node:fs'
import { createKeyRing, type KeyRing, withoutGone } from '../keys/key-ring.ts'
import { formatKeyRing } from '../keys/key-ring-json.ts'
import type { Algorithm, KeySet } from '../keys/key-set.ts'
import { createLiveKeys } from '../keys/live-keys.ts'
import { createSigningKey, ringSigningKeys, type SigningKeys } from '../keys/signing-keys.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { safeListener } from '../protocol/safe-listener.ts'
import { JWT_LIFETIME_SECONDS } from '../protocol.ts'
import { type KeyStore, keyFileStore } from './key-store.ts'

/** What {@link openKeyFile} takes. */
export interface KeyFileOptions {
  /** Of the first key, where the file has to be made. @default 'Ed25519' */
  algorithm?: Algorithm
  /** How long the longest JWT lives, in seconds: a retiring key verifies for so long. @default 900 */
  jwtLifetimeSeconds?: number
  /** How often the file is looked at, in milliseconds. @default 500 */
  pollMs?: number
  /** Told when the file is gone or cannot be read; the keys that are known stay in use. @default console.error */
  onError?: (error: unknown) => void
}

/** The keys of a key file, followed while the file changes. */
export interface KeyFile {
  /** For `defineAuthConfig`. */
  readonly jwks: KeySet
  /** For `defineAuth`. */
  readonly signingKeys: SigningKeys
  /** Stops following the file. */
  close(): void
}

/**
 * Opens a key file and follows it: what `sallyport keys` changes counts within a second, without a restart. Where there is no file,
 * one is made with a first key; of several processes that start at once, one makes it.
 *
 * @throws ConfigurationError when the file holds no key ring
 */
export async function openKeyFile(path: string, options: KeyFileOptions = {}): Promise<KeyFile> {
  const { algorithm, jwtLifetimeSeconds = JWT_LIFETIME_SECONDS, pollMs = 500 } = options
  const onError = safeListener(options.onError ?? console.error)
  const store = keyFileStore(path)
  if (store.read() === null) store.create(createKeyRing(await createSigningKey(algorithm), new Date()))

  const live = createLiveKeys()
  // Before it is read: a change in between is seen by the next look.
  let seen = fingerprint(path)
  let ring = readRing(store)
  let used = ''
  let hasFailed = false
  let signingKeys = ringSigningKeys(ring)

  /** Called on every look at the file, because keys also go by the mere passing of time. */
  async function use(candidate: KeyRing): Promise<void> {
    const present = withoutGone(candidate, { now: new Date(), jwtLifetimeSeconds })
    const formatted = formatKeyRing(present)
    if (formatted !== used) {
      const next = ringSigningKeys(present)
      // A key that cannot sign must not take the place of one that can.
      await next.active.cryptoKey()
      await live.replace(next.publicJwks.keys, next.publicJwks.revoked ?? [])
      signingKeys = next
      used = formatted
    }
    ring = candidate
  }

  async function poll(): Promise<void> {
    try {
      const current = fingerprint(path)
      await use(current === seen ? ring : readRing(store))
      seen = current
      hasFailed = false
    } catch (error) {
      if (!hasFailed) onError(error)
      hasFailed = true
      await use(ring)
    }
  }

  await use(ring)
  const timer = setInterval(() => void poll().catch(onError), pollMs)
  timer.unref()
  return {
    jwks: live,
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
    throw new ConfigurationError(`The key file ${store.path} is gone; the keys known so far stay in use`)
  return ring
}

function fingerprint(path: string): string {
  const { mtimeMs, size, ino } = statSync(path)
  return `${mtimeMs} ${size} ${ino}`
}
