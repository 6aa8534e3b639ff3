import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AuthFailure, defineAuthConfig, verifyJwt } from '@sallyport/core'
import {
  createAuth,
  defineAuth,
  issueJwt,
  type KeyFile,
  type KeyFileOptions,
  openKeyFile,
} from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createPasswordAccount, emailPassword } from '@sallyport/core/plugins/email-password'
import { openSqlite } from '@sallyport/core/sqlite'
import { afterAll, afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { keyFileStore } from '../../src/key-file/key-store.ts'
import { addNextKey, createKeyRing, type KeyRing, revokeKey, rotateKeys } from '../../src/keys/key-ring.ts'
import { reasonOf } from '../support/reason-of.ts'
import { cookiesAfter, get, post } from '../support/requests.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const directory = temporaryDirectory()
const [a, b, c, ec] = await Promise.all([
  createSigningKey(),
  createSigningKey(),
  createSigningKey(),
  createSigningKey('ES256'),
])
const POLL_MS = 20

afterEach(() => void vi.useRealTimers())

const newPath = () => join(directory, crypto.randomUUID(), 'keys.json')

/** Opens a key file with this ring until the end of the test, and collects its reports. */
async function open(ring: KeyRing, options: KeyFileOptions = {}, finish = onTestFinished) {
  const path = newPath()
  const store = keyFileStore(path)
  store.create(ring)
  const errors: unknown[] = []
  const keyFile = await openKeyFile(path, { pollMs: POLL_MS, ...options })
  keyFile.jwks.failures?.follow((failure) => failure && errors.push(failure.cause))
  finish(keyFile.close)
  return { path, store, errors, ...keyFile }
}

const soon = (expectation: () => unknown) => vi.waitFor(expectation, { interval: 2, timeout: 30_000 })
const kids = ({ signingKeys }: KeyFile) => signingKeys.publicJwks.keys.map(({ kid }) => kid)
const one = () => createKeyRing(a, new Date())
const two = () => addNextKey(one(), b, { now: new Date() })
const force = { force: true }

describe('a missing key file is created', () => {
  test.each(['Ed25519', 'ES256'] as const)(
    'with a first key for %s, readable only by its owner',
    async (algorithm) => {
      const path = newPath()
      const keyFile = await openKeyFile(path, { algorithm })
      onTestFinished(keyFile.close)
      expect(statSync(path).mode & 0o777).toBe(0o600)
      expect(keyFile.signingKeys.active.alg).toBe(algorithm)
      expect(await keyFile.jwks.findKey(keyFile.signingKeys.active.kid)).toMatchObject({ alg: algorithm })
      const again = await openKeyFile(path)
      onTestFinished(again.close)
      expect(kids(again)).toEqual([keyFile.signingKeys.active.kid])
    },
  )

  test('once by eight processes that start together, and the open file keeps none of them running', async () => {
    const path = newPath()
    const children = Array.from({ length: 8 }, () =>
      fork(new URL('../fixtures/open-key-file.ts', import.meta.url), [path], { execArgv: [] }),
    )
    onTestFinished(() => {
      for (const child of children) child.kill()
    })
    await Promise.all(children.map((child) => once(child, 'message')))
    const ended = children.map((child) => once(child, 'exit'))
    const messages = children.map((child) => once(child, 'message'))
    for (const child of children) child.send('go')
    const keys = (await Promise.all(messages)).map(([message]) => message)
    const [kid] =
      keyFileStore(path)
        .read()
        ?.keys.map(({ jwk }) => jwk.kid) ?? []
    expect(keys).toEqual(Array.from({ length: 8 }, () => ({ active: kid, keys: [kid] })))
    expect((await Promise.all(ended)).map(([code]) => code)).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
  })
})

describe('a key file without a ring stops the start', () => {
  test.each([
    ['an empty file', ''],
    ['text', 'keys'],
    ['public keys', JSON.stringify({ keys: [{ ...a, d: undefined }] })],
    ['no signing key', JSON.stringify({ keys: [{ ...a, state: 'next' }] })],
  ])('%s', async (_name, text) => {
    const path = newPath()
    mkdirSync(dirname(path))
    writeFileSync(path, text)
    await expect(openKeyFile(path)).rejects.toThrow(path)
    expect(readFileSync(path, 'utf8')).toBe(text)
  })
})

describe('changes in the file apply without a restart', () => {
  const DEFAULTS: KeyFileOptions = { pollMs: 500 }

  test('a key that is published, and then signs', async () => {
    const file = await open(one(), DEFAULTS)
    file.store.update(() => two())
    await soon(() => expect(file.jwks.status(b.kid)).toBe('known'))
    expect(file.signingKeys.active.kid).toBe(a.kid)
    file.store.update((ring) => rotateKeys(ring, { now: new Date(), ...force }))
    await soon(() => expect(file.signingKeys.active.kid).toBe(b.kid))
    expect(file.jwks.status(a.kid)).toBe('known')
    expect(kids(file)).toEqual([a.kid, b.kid])
  })

  test('a leaked key: the tokens it signed are rejected, although they were verified before', async () => {
    const file = await open(two(), DEFAULTS)
    const config = defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks: file.jwks })
    const session = { id: 's1', userId: 'ada', expiresAt: new Date(8.64e15) }
    const { token } = await issueJwt(session, { key: file.signingKeys.active, config })
    expect(await reasonOf(verifyJwt(token, config))).toBe('accepted')
    file.store.update((ring) => revokeKey(ring, a.kid, new Date()))
    await soon(async () => expect(await reasonOf(verifyJwt(token, config))).toBe('TOKEN_INVALID'))
    expect(file.jwks.status(a.kid)).toBe('revoked')
    expect(file.signingKeys.active.kid).toBe(b.kid)
    expect(file.signingKeys.publicJwks.revoked).toEqual([a.kid])
  })

  test('also with a relative path, after the working directory has changed', async () => {
    const path = newPath()
    const store = keyFileStore(path)
    store.create(one())
    const keyFile = await openKeyFile(relative('.', path), { pollMs: POLL_MS })
    onTestFinished(keyFile.close)
    const before = process.cwd()
    onTestFinished(() => process.chdir(before))
    process.chdir(directory)
    store.update(two)
    await soon(() => expect(keyFile.jwks.status(b.kid)).toBe('known'))
    expect(keyFile.jwks.failures?.current).toBeNull()
  })

  test('calls listeners once for each change, and never for a poll without changes', async () => {
    const file = await open(one())
    let calls = 0
    file.jwks.subscribe(() => calls++)
    file.store.update(() => two())
    await soon(() => expect(calls).toBe(1))
    file.store.update((ring) => ring)
    await sleep(POLL_MS * 5)
    expect(calls).toBe(1)
    expect(file.errors).toEqual([])
  })

  test('activates the next key without reporting a change to verifiers', async () => {
    const file = await open(two())
    const { version } = file.jwks
    file.store.update((ring) => rotateKeys(ring, { now: new Date(), ...force }))
    await soon(() => expect(file.signingKeys.active.kid).toBe(b.kid))
    expect(file.jwks.version).toBe(version)
  })
})

describe('a retiring key is dropped with time', () => {
  const rotated = (now = new Date()) => rotateKeys(two(), { now, ...force })

  test.each([
    ['16 minutes by default', {}, 960],
    ['70 seconds if JWTs live 10 seconds', { jwtLifetimeSeconds: 10 }, 70],
  ])('after %s', async (_name, options, seconds) => {
    const now = new Date()
    const file = await open(rotated(now), options)
    vi.useFakeTimers({ toFake: ['Date'], now: now.getTime() + (seconds - 5) * 1000 })
    await sleep(POLL_MS * 5)
    expect(file.jwks.status(a.kid)).toBe('known')
    vi.setSystemTime(Date.now() + 5_000)
    await soon(() => expect(file.jwks.status(a.kid)).toBe('gone'))
    expect(kids(file)).toEqual([b.kid])
    expect(file.errors).toEqual([])
  })

  test("also while the file can't be read", async () => {
    const file = await open(rotated())
    unlinkSync(file.path)
    await soon(() => expect(file.errors).toHaveLength(1))
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 960_000 })
    await soon(() => expect(file.jwks.status(a.kid)).toBe('gone'))
    expect(file.signingKeys.active.kid).toBe(b.kid)
  })

  test('accepts a key that a plain JWK Set lists second from the moment the file is read', async () => {
    const path = newPath()
    mkdirSync(dirname(path))
    writeFileSync(path, JSON.stringify({ keys: [a, b] }))
    const file = await openKeyFile(path, { pollMs: POLL_MS })
    onTestFinished(file.close)
    expect(file.jwks.status(b.kid)).toBe('known')
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 961_000 })
    await soon(() => expect(file.jwks.status(b.kid)).toBe('gone'))
  })
})

describe('reports a lost or broken file once, and calls continue', async () => {
  const database = await openSqlite(':memory:')
  afterAll(() => database.close())
  const ada = { name: 'Ada', email: 'ada@example.com', password: 'correct horse battery staple' }
  await createPasswordAccount(database, { ...ada, now: new Date() })

  // More sign-ins to one account than the limit allows.
  const password = emailPassword({ limits: { account: { points: 1_000, duration: 60 } } })
  const broken = (members: object) => JSON.stringify({ keys: [{ ...a, ...members }] })

  test.concurrent.for<[string, (path: string) => void]>([
    ['deleted', (path) => unlinkSync(path)],
    ['deleted with its folder', (path) => rmSync(dirname(path), { recursive: true })],
    ['emptied', (path) => writeFileSync(path, '')],
    ['cut off', (path) => writeFileSync(path, broken({}).slice(0, -1))],
    ['without keys', (path) => writeFileSync(path, '{"keys":[]}')],
    ['without a signing key', (path) => writeFileSync(path, broken({ state: 'next' }))],
    ["a key type that can't sign", (path) => writeFileSync(path, broken({ alg: 'RS256' }))],
    ["a private key that doesn't match the public key", (path) => writeFileSync(path, broken({ d: b.d }))],
    [
      "a public key that isn't on its curve",
      (path) =>
        writeFileSync(
          path,
          JSON.stringify({ keys: [b, { ...ec, x: `${'A'.repeat(42)}E`, state: 'retiring' }] }),
        ),
    ],
    [
      'a folder in its place',
      (path) => {
        unlinkSync(path)
        mkdirSync(path)
      },
    ],
  ])('%s', async ([, damage], { onTestFinished }) => {
    const file = await open(one(), {}, onTestFinished)
    const failures: AuthFailure[] = []
    const onFailure = (failure: AuthFailure) => void failures.push(failure)
    const config = defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks: file.jwks, onFailure })
    const definition = defineAuth({ config, signingKeys: file.signingKeys, plugins: [password] })
    const auth = await createAuth(definition, database, { pruneEverySeconds: 0 })
    const signIn = () =>
      auth.handler(post(ENDPOINTS.signInEmail.path, { email: ada.email, password: ada.password }))
    const signedIn = await signIn()
    const cookie = cookiesAfter('', signedIn)
    const refresh = () => auth.handler(get(ENDPOINTS.token.path, { cookie }))
    const { version } = file.jwks

    damage(file.path)
    await soon(() => expect(file.errors).toHaveLength(1))
    await sleep(POLL_MS * 5)
    expect(file.errors).toHaveLength(1)
    expect(String(file.errors[0])).not.toContain(a.d.slice(0, 8))

    expect([(await signIn()).status, (await refresh()).status]).toEqual([200, 200])
    const jwt = /service\.jwt=([^;]+)/.exec(cookiesAfter('', await refresh()))?.[1] ?? ''
    expect(await verifyJwt(jwt, config)).toMatchObject({ keyId: a.kid })
    expect(file.jwks.version).toBe(version)

    rmSync(file.path, { recursive: true, force: true })
    file.store.create(addNextKey(createKeyRing(c, new Date()), a, { now: new Date() }))
    await soon(() => expect(file.signingKeys.active.kid).toBe(c.kid))
    expect([(await signIn()).status, (await refresh()).status]).toEqual([200, 200])
    expect(file.errors).toHaveLength(1)
    const [failure, recovery] = [{ cause: expect.any(Error) }, { cause: null, recovered: true }].map(
      (part) => ({
        ...{ code: 'KEY_FILE_INVALID', path: 'keys', step: 'background', recovered: false, suppressed: 0 },
        ...part,
      }),
    )
    await soon(() => expect(failures).toMatchObject([failure, recovery]))

    // Within the same minute.
    unlinkSync(file.path)
    await soon(() => expect(failures).toMatchObject([failure, recovery, failure]))
    expect(file.errors).toHaveLength(2)
  })
})

test('reports each reading that fails, but the same one only once', async () => {
  const file = await open(one())
  writeFileSync(file.path, 'not a key ring')
  await soon(() => expect(file.errors).toHaveLength(1))
  writeFileSync(file.path, 'not a key ring either')
  await soon(() => expect(file.errors).toHaveLength(2))
  unlinkSync(file.path)
  await soon(() => expect(file.errors).toHaveLength(3))
  await sleep(POLL_MS * 5)
  const invalid = { message: `${file.path} is not JSON.` }
  const gone = { message: `${file.path} not found. The last known keys stay in use. Restore it.` }
  expect(file.errors).toMatchObject([invalid, invalid, gone])
})

test('without onFailure, the console has the failure and the recovery', async () => {
  const console = vi.spyOn(globalThis.console, 'error').mockImplementation(() => {})
  onTestFinished(() => console.mockRestore())
  const file = await open(one())
  defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks: file.jwks })
  unlinkSync(file.path)
  const failed = 'sallyport: KEY_FILE_INVALID in keys (background)'
  await soon(() => expect(console.mock.calls).toEqual([[failed, file.errors[0]]]))
  file.store.create(one())
  await soon(() => expect(console).toHaveBeenLastCalledWith(`${failed} is over`))
})

test.each([
  [
    'throws',
    () => {
      throw new Error('the listener is broken')
    },
  ],
  ['rejects', () => Promise.reject(new Error('the listener is broken'))],
])('an onFailure that %s ends neither the process nor the polling', async (_how, onFailure) => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  const rejected: unknown[] = []
  const note = (error: unknown) => void rejected.push(error)
  process.on('unhandledRejection', note)
  onTestFinished(() => {
    process.off('unhandledRejection', note)
    printed.mockRestore()
  })
  const file = await open(one())
  defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks: file.jwks, onFailure })
  rmSync(file.path)
  await soon(() => expect(printed).toHaveBeenCalled())
  file.store.create(createKeyRing(c, new Date()))
  await soon(() => expect(file.signingKeys.active.kid).toBe(c.kid))
  expect(rejected).toEqual([])
})
