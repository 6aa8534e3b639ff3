import { fork } from 'node:child_process'
import { once } from 'node:events'
import fs, {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { envFileStore, formatEnv, keyFileStore } from '../../src/key-file/key-store.ts'
import {
  activeKey,
  addNextKey,
  createKeyRing,
  type KeyRing,
  publicKeys,
  retireKey,
} from '../../src/keys/key-ring.ts'
import { formatKeyRing, parseKeyRing } from '../../src/keys/key-ring-json.ts'
import type { PrivateJwk } from '../../src/keys/policy.ts'
import { messageOf } from '../support/message-of.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const directory = temporaryDirectory()
const [a, b] = await Promise.all([newKey(), newKey()])
const start = new Date('2026-11-21T10:00:00.000Z')
const first = createKeyRing(a, start)
const second = createKeyRing(b, start)
const publish = (ring: KeyRing) => addNextKey(ring, b, { now: start })
const withdraw = (ring: KeyRing) => retireKey(ring, b.kid, { now: start, force: false })

/** Creates a key whose members are in the order in which a ring is written. */
async function newKey(): Promise<PrivateJwk> {
  return activeKey(parseKeyRing({ keys: [await createSigningKey()] }, 'ring')).jwk
}

/** Returns a path in an otherwise empty folder. */
function newPath(name: string): string {
  const path = join(directory, crypto.randomUUID(), name)
  mkdirSync(dirname(path))
  return path
}

const modeOf = (path: string) => statSync(path).mode & 0o777

describe.each([
  ['a key file', keyFileStore, 'keys.json'],
  ['an env file', envFileStore, '.env'],
] as const)('%s', (_name, storeOf, file) => {
  test('holds no ring until one is created, and then that one', () => {
    const path = join(newPath('x'), 'deeper', file)
    const store = storeOf(path)
    expect(store.read()).toBeNull()
    expect(store.create(first)).toBe(true)
    expect(store.read()).toEqual(first)
    expect(storeOf(path).read()).toEqual(first)
  })

  test('is created once: a later first ring changes nothing', () => {
    const store = storeOf(newPath(file))
    store.create(first)
    expect(store.create(second)).toBe(false)
    expect(store.read()).toEqual(first)
  })

  test('can be read by a process that starts while a command changes it', () => {
    const path = newPath(file)
    const store = storeOf(path)
    store.create(first)
    writeFileSync(`${path}.lock`, '')
    expect(store.create(second)).toBe(false)
  })

  test('is replaced by the result of an update', () => {
    const store = storeOf(newPath(file))
    store.create(first)
    expect(store.update(publish)).toEqual(publish(first))
    expect(store.read()).toEqual(publish(first))
  })

  test('can be read only by its owner, also after an update of a file that others could read', () => {
    const path = newPath(file)
    const store = storeOf(path)
    store.create(first)
    expect(modeOf(path)).toBe(0o600)
    chmodSync(path, 0o644)
    store.update(publish)
    expect(modeOf(path)).toBe(0o600)
  })

  test('behind a symbolic link is changed where the link leads', () => {
    const path = newPath(file)
    const link = newPath(file)
    writeFileSync(path, file === '.env' ? 'APP=one\n' : formatKeyRing(first))
    symlinkSync(path, link)
    const store = storeOf(link)
    store.create(first)
    writeFileSync(`${path}.lock`, '')
    expect(messageOf(() => store.update(publish))).toContain('another command is changing the keys')
    rmSync(`${path}.lock`)
    store.update(publish)
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(
      storeOf(path)
        .read()
        ?.keys.map(({ state }) => state),
    ).toEqual(['active', 'next'])
    expect(modeOf(path)).toBe(0o600)
    expect(readdirSync(dirname(link))).toEqual([file])
  })

  test('leaves no other file behind, whether a change succeeds or is rejected', () => {
    const path = newPath(file)
    const store = storeOf(path)
    store.create(first)
    store.create(second)
    store.update(publish)
    expect(messageOf(() => store.update(publish))).toContain('has a next key already')
    expect(readdirSync(dirname(path))).toEqual([file])
  })

  test('keeps the ring when a change is rejected', () => {
    const path = newPath(file)
    const store = storeOf(path)
    store.create(publish(first))
    const before = readFileSync(path, 'utf8')
    expect(messageOf(() => store.update(publish))).toContain('has a next key already')
    expect(readFileSync(path, 'utf8')).toBe(before)
  })

  test('rejects an update before it holds a ring', () => {
    const path = newPath(file)
    expect(messageOf(() => storeOf(path).update(publish))).toContain(`${path} has no keys yet`)
    expect(readdirSync(dirname(path))).toEqual([])
  })

  test('rejects an update while another command changes it', () => {
    const path = newPath(file)
    const store = storeOf(path)
    store.create(first)
    writeFileSync(`${path}.lock`, '')
    expect(messageOf(() => store.update(publish))).toContain(`${path}.lock exists`)
    expect(store.read()).toEqual(first)
    expect(existsSync(`${path}.lock`)).toBe(true)
  })

  test.each(['writeFileSync', 'chmodSync', 'renameSync'] as const)(
    'leaves no draft of private keys behind if %s fails',
    (call) => {
      const path = newPath(file)
      const store = storeOf(path)
      store.create(first)
      const before = readFileSync(path, 'utf8')
      const original = fs[call] as (...args: unknown[]) => void
      const failing = vi.spyOn(fs, call).mockImplementation((...args: unknown[]) => {
        // A disk that is full stops in the middle, and a mounted file can't be replaced.
        if (call !== 'renameSync') original(...args)
        throw new Error('EBUSY')
      })
      onTestFinished(() => failing.mockRestore())
      expect(() => store.update(publish)).toThrow('EBUSY')
      expect(readdirSync(dirname(path))).toEqual([file])
      expect(readFileSync(path, 'utf8')).toBe(before)
    },
  )

  test('rejects an update in a folder that is missing, and names it', () => {
    const folder = join(newPath('x'), 'missing')
    const message = messageOf(() => storeOf(join(folder, file)).update(publish))
    expect(message).toContain(`The folder ${folder} can't be written (Error: ENOENT`)
    expect(message).not.toContain('another command')
  })

  test.each([
    ['9 s ago is respected', 9, false],
    ['11 s ago is broken, because its command died', 11, true],
  ])('a lock created %s', (_age, seconds, isTaken) => {
    const path = newPath(file)
    const store = storeOf(path)
    store.create(first)
    writeFileSync(`${path}.lock`, '')
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const made = Date.now() / 1000 - seconds
    utimesSync(`${path}.lock`, made, made)
    expect(messageOf(() => store.update(publish)) === 'accepted').toBe(isTaken)
    expect(existsSync(`${path}.lock`)).toBe(!isTaken)
  })

  test('an update removes the drafts of commands that were killed, and no other files', () => {
    const path = newPath(file)
    const store = storeOf(path)
    store.create(first)
    const ofNow = `${file}.${crypto.randomUUID()}.draft`
    const names = [ofNow, `${file}.${crypto.randomUUID()}.draft`, `${file}.draft`, `${file}.2.draft`]
    for (const name of names) {
      writeFileSync(join(dirname(path), name), '')
      const made = Date.now() / 1000 - (name === ofNow ? 1 : 11)
      utimesSync(join(dirname(path), name), made, made)
    }
    store.update(publish)
    expect(readdirSync(dirname(path)).sort()).toEqual(
      [file, ofNow, `${file}.2.draft`, `${file}.draft`].sort(),
    )
  })

  test("an update needs no right to list the folder or to remove another user's draft", () => {
    const path = newPath(file)
    const store = storeOf(path)
    store.create(first)
    const denied = vi.spyOn(fs, 'readdirSync').mockImplementation(() => {
      throw new Error('EACCES')
    })
    onTestFinished(() => denied.mockRestore())
    expect(formatKeyRing(store.update(publish))).not.toBe(formatKeyRing(first))
    expect(store.read()).toEqual(store.update((ring) => ring))
  })

  test.skipIf(process.getuid?.() !== 0)('of another user still is theirs after an update by root', () => {
    const path = newPath(file)
    const store = storeOf(path)
    store.create(first)
    chownSync(path, 1234, 1235)
    store.update(publish)
    expect(statSync(path)).toMatchObject({ uid: 1234, gid: 1235 })
  })

  test("in a folder that can't be searched is not taken for a missing one", () => {
    const path = newPath(file)
    const denied = vi.spyOn(fs, 'statSync').mockImplementation(() => {
      throw new Error('EACCES')
    })
    onTestFinished(() => denied.mockRestore())
    expect(() => storeOf(path).read()).toThrow('EACCES')
  })

  test('is named in the error if it is broken, without private values', () => {
    const path = newPath(file)
    const ring = formatKeyRing(first)
    writeFileSync(path, file === '.env' ? `SIGNING_KEYS='${ring.slice(0, -1)}'` : ring.slice(0, -1))
    const message = messageOf(() => storeOf(path).read())
    expect(message).toContain(path)
    expect(message).not.toContain(a.d.slice(0, 8))
    expect(messageOf(() => storeOf(path).create(second))).toBe(message)
    expect(messageOf(() => storeOf(path).update(publish))).toBe(message)
  })
})

test("an empty key file is broken, and isn't treated as missing", () => {
  const path = newPath('keys.json')
  writeFileSync(path, '')
  expect(messageOf(() => keyFileStore(path).create(first))).toContain('it is empty')
})

describe('a process that reads 200 times during 200 updates', () => {
  test('never reads half a file, or no file', async () => {
    const path = newPath('keys.json')
    const store = keyFileStore(path)
    store.create(first)
    const child = fork(new URL('../fixtures/read-key-file.ts', import.meta.url), [path], { execArgv: [] })
    onTestFinished(() => void child.kill())
    let last: { reads: number; faults: string[] } = { reads: 0, faults: [] }
    child.on('message', (message: typeof last) => {
      last = message
    })
    // A busy machine may start the process late.
    for (let i = 0; i < 100 || last.reads <= 200; i++) {
      store.update(publish)
      store.update(withdraw)
      await new Promise(setImmediate)
    }
    child.send('stop')
    await once(child, 'disconnect')
    expect(last.faults).toEqual([])
  })
})

describe('an env file', () => {
  const others =
    'APP=one\n# JWKS=a comment\n\n  INDENTED = two # why\nQUOTED="three\nJWKS=of three\n"\nexport EXPORTED=four\n'
  const keys = (ring: KeyRing) => `${formatEnv(ring)}\n`
  const json = JSON.stringify({ keys: [{ ...a, state: 'active', since: start.toISOString() }] }, null, 2)

  test.each([
    ['nothing', '', ''],
    ['other variables and comments', others, others],
    ['no line break at its end', 'APP=one', 'APP=one\n'],
    ['Windows line endings', 'APP=one\r\nOTHER=two\r\n', 'APP=one\r\nOTHER=two\r\n'],
    ['blank lines', '\n\nAPP=one\n\n\n', '\n\nAPP=one\n\n\n'],
    ['blank keys', `${others}JWKS=\nSIGNING_KEYS=\n`, others],
    ['blank keys in quotes', `JWKS=" "\nSIGNING_KEYS=" " # later\n${others}`, others],
    ['a public set alone', `${others}JWKS='{}'\n`, others],
    [
      'variables with similar names',
      'MY_JWKS=1\nJWKS_URL=2\nSIGNING_KEYS_OLD=3\n',
      'MY_JWKS=1\nJWKS_URL=2\nSIGNING_KEYS_OLD=3\n',
    ],
    ['an apostrophe in a comment', "# don't\nAPP=one\n", "# don't\nAPP=one\n"],
  ])('gets keys and keeps its content: %s', (_name, before, kept) => {
    const path = newPath('.env')
    writeFileSync(path, before)
    expect(envFileStore(path).create(first)).toBe(true)
    expect(readFileSync(path, 'utf8')).toBe(kept + keys(first))
    envFileStore(path).update(publish)
    expect(readFileSync(path, 'utf8')).toBe(kept + keys(publish(first)))
  })

  test.each([
    ['one line', `JWKS='{}'\nSIGNING_KEYS='${formatKeyRing(first)}'\n`],
    ['without quotes', `JWKS={}\nSIGNING_KEYS=${formatKeyRing(first)}\n`],
    ['over several lines', `JWKS='{\n "keys": []\n}'\nSIGNING_KEYS='${json}'\n`],
    ['in backticks, with a comment', `JWKS=\`{}\` # public\nSIGNING_KEYS=\`${json}\` # private\n`],
    ['written twice', `JWKS=1\nJWKS=2\nSIGNING_KEYS='{}'\nSIGNING_KEYS='${formatKeyRing(first)}'\n`],
  ])('has its keys replaced, with nothing of the old ones left: %s', (_name, lines) => {
    const path = newPath('.env')
    const [head = '', tail = ''] = [others.slice(0, 8), others.slice(8)]
    writeFileSync(path, head + lines + tail)
    envFileStore(path).update(() => second)
    const text = readFileSync(path, 'utf8')
    expect(text).toBe(others + keys(second))
    expect(text).not.toContain(a.d)
  })

  test('keeps its variables exported, so a shell that reads the file passes them on', () => {
    const path = newPath('.env')
    writeFileSync(path, `export JWKS='{}'\n  export  SIGNING_KEYS = '${formatKeyRing(first)}'\n${others}`)
    envFileStore(path).update(() => second)
    expect(readFileSync(path, 'utf8')).toBe(others + keys(second).replaceAll(/^(?=\w)/gm, 'export '))
    expect(envFileStore(path).read()).toEqual(second)
  })

  test('keeps the value of every other variable', () => {
    const path = newPath('.env')
    writeFileSync(path, others)
    envFileStore(path).create(first)
    const { JWKS, SIGNING_KEYS, ...rest } = parseEnv(readFileSync(path, 'utf8'))
    expect(rest).toEqual(parseEnv(others))
    expect(JWKS).toBe(JSON.stringify(publicKeys(first)))
    expect(SIGNING_KEYS).toBe(formatKeyRing(first))
  })

  test.each(["it's", '`', '"', '\\', '$HOME', '#1'])(
    'keeps a key whose id, created elsewhere, is %s',
    (kid) => {
      const ring = createKeyRing({ ...a, kid }, start)
      const path = newPath('.env')
      envFileStore(path).create(ring)
      expect(envFileStore(path).read()).toEqual(ring)
      envFileStore(path).update(publish)
      expect(envFileStore(path).read()).toEqual(publish(ring))
    },
  )
})

describe('an env file with a prefix', () => {
  test('holds two rings, each under its own variables', () => {
    const path = newPath('.env')
    const [ofUsers, ofServices] = [envFileStore(path), envFileStore(path, 'SERVICE_')]
    expect(ofUsers.create(first)).toBe(true)
    expect(ofServices.read()).toBeNull()
    expect(ofServices.create(second)).toBe(true)
    expect(Object.keys(parseEnv(readFileSync(path, 'utf8'))).sort()).toEqual([
      'JWKS',
      'SERVICE_JWKS',
      'SERVICE_SIGNING_KEYS',
      'SIGNING_KEYS',
    ])
    expect([ofUsers.read(), ofServices.read()]).toEqual([first, second])
  })

  test('changes only its own variables', () => {
    const path = newPath('.env')
    const [ofUsers, ofServices] = [envFileStore(path), envFileStore(path, 'SERVICE_')]
    ofUsers.create(first)
    ofServices.create(first)
    const published = ofServices.update(publish)
    expect([ofUsers.read(), ofServices.read()]).toEqual([first, published])
  })

  test('names the faulty variable', () => {
    const path = newPath('.env')
    writeFileSync(path, "SERVICE_SIGNING_KEYS='{}'\n")
    expect(messageOf(() => envFileStore(path, 'SERVICE_').read())).toBe(
      `SERVICE_SIGNING_KEYS in ${path} must be a JWK Set: { "keys": [ ... ] }`,
    )
  })
})
