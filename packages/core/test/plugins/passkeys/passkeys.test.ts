import { commit } from '@sallyport/core/auth'
import { passkeys } from '@sallyport/core/plugins/passkeys'
import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { withOwnTables } from '../../../src/plugins/passkeys/tables.ts'
import { eventually } from '../../support/eventually.ts'
import { readAudit } from '../../support/read-audit.ts'
import { Authenticator, type Ceremony } from './authenticator.ts'
import { type Browser, createPasskeyAuth } from './browser.ts'

const { auth, emails, open } = await createPasskeyAuth()

let user: { userId: string; email: string }
let ada: Browser

beforeEach(async () => {
  user = await auth.createUser()
  ada = open()
  await ada.signIn(user.email)
})

const methodsOf = async (browser: Browser) => (await browser.call('getSession')).body.session.amr
const namesOf = async (browser: Browser) =>
  (await browser.call('listPasskeys')).body.passkeys.map(({ name }: { name: string }) => name)

describe('adding', () => {
  test('gets options for a discoverable passkey with user verification, without attestation', async () => {
    const { body } = await ada.call('createPasskeyOptions')
    expect(body).toEqual({
      challenge: expect.stringMatching(/^[\w-]{43}$/),
      rp: { id: 'localhost', name: 'localhost' },
      user: { id: expect.stringMatching(/^[\w-]{43}$/), name: user.email, displayName: 'Test User' },
      pubKeyCredParams: [-8, -7, -257].map((alg) => ({ alg, type: 'public-key' })),
      timeout: 300_000,
      excludeCredentials: [],
      authenticatorSelection: {
        residentKey: 'required',
        requireResidentKey: true,
        userVerification: 'required',
      },
      attestation: 'none',
    })
    expect(JSON.stringify(body)).not.toContain(user.userId)
  })

  test('excludes authenticators that have a passkey of this user', async () => {
    const laptop = new Authenticator()
    await ada.addPasskey(laptop)
    const { body } = await ada.call('createPasskeyOptions')
    expect(body.excludeCredentials).toEqual([{ id: laptop.id, type: 'public-key', transports: [] }])
  })

  test('replaces the credentials of the session, which has proved the passkey', async () => {
    const copy = open()
    copy.cookie = ada.cookie
    await ada.addPasskey(new Authenticator())
    expect(await methodsOf(ada)).toEqual(['pwd', 'passkey'])
    expect((await copy.call('getSession')).status).toBe('401 TOKEN_INVALID')
    const audit = await readAudit(auth, user.userId)
    expect(audit).toContainEqual(
      expect.objectContaining({ type: 'session.version-changed', cause: 'factor-added', version: 2 }),
    )
    expect(audit).toContainEqual(expect.objectContaining({ type: 'passkeys:added', name: 'Laptop' }))
  })

  test('keeps the other sessions, unless they are to end', async () => {
    const other = open()
    await other.signIn(user.email)
    await ada.addPasskey(new Authenticator())
    expect((await other.call('getSession')).status).toBe('200')
    await ada.addPasskey(new Authenticator(), {}, { revokeOtherSessions: true })
    expect((await other.call('getSession')).status).toBe('401 SESSION_NOT_FOUND')
  })

  test('sends an email', async () => {
    await ada.addPasskey(new Authenticator(), {}, { name: 'Phone' })
    const notice = { kind: 'passkey-added', to: user.email, passkey: { name: 'Phone' } }
    await eventually(() => expect(emails).toContainEqual(expect.objectContaining(notice)))
  })

  test.each<[string, Partial<Ceremony>]>([
    ['from another origin', { origin: 'https://evil.example' }],
    ['from a cross-origin frame', { crossOrigin: true }],
    ['for another domain', { rpId: 'evil.example' }],
    ['without user verification', { isVerified: false }],
    ['of a sign-in', { type: 'webauthn.get' }],
  ])('rejects a response %s', async (_name, changes) => {
    expect((await ada.addPasskey(new Authenticator(), changes)).status).toBe('400 PASSKEY_INVALID')
    expect(await namesOf(ada)).toEqual([])
  })

  test('rejects a signed credential id that differs from the one of the response, and may be too long', async () => {
    const { body } = await ada.call('createPasskeyOptions')
    const response = new Authenticator().create(body)
    const renamed = { ...response, id: 'other', rawId: 'other' }
    const reply = await ada.call('addPasskey', { response: renamed, name: 'Laptop' })
    expect(reply.status).toBe('400 PASSKEY_INVALID')
    expect(await namesOf(ada)).toEqual([])
  })

  test('accepts a challenge once, even if its response was wrong, and only of this session', async () => {
    const { body } = await ada.call('createPasskeyOptions')
    const send = async (changes: Partial<Ceremony>) =>
      (await ada.call('addPasskey', { response: new Authenticator().create(body, changes), name: 'Phone' }))
        .status
    expect(await send({ isVerified: false })).toBe('400 PASSKEY_INVALID')
    expect(await send({})).toBe('400 PASSKEY_TIMEOUT')
    const { body: earlier } = await ada.call('createPasskeyOptions')
    await ada.signIn(user.email)
    const response = new Authenticator().create(earlier)
    expect((await ada.call('addPasskey', { response, name: 'Phone' })).status).toBe('400 PASSKEY_TIMEOUT')
  })

  test('rejects a passkey that a user already has', async () => {
    const other = await auth.createUser()
    const bob = open()
    await bob.signIn(other.email)
    const laptop = new Authenticator()
    expect((await bob.addPasskey(laptop)).status).toBe('200')
    expect((await ada.addPasskey(laptop)).status).toBe('400 PASSKEY_INVALID')
    expect(await namesOf(ada)).toEqual([])
  })

  test('needs a recent sign-in, and the secret of the session', async () => {
    const { body } = await ada.call('createPasskeyOptions')
    const response = new Authenticator().create(body)
    const copy = open()
    copy.cookie = ada.cookie
      .split('; ')
      .filter((pair) => !pair.startsWith('service.session='))
      .join('; ')
    const reply = await copy.call('addPasskey', { response, name: 'Phone' })
    expect(reply.status).toBe('400 SESSION_SECRET_REQUIRED')
    auth.clock.advance(14 * 60)
    await ada.call('token')
    auth.clock.advance(120)
    await ada.call('token')
    expect((await ada.call('createPasskeyOptions')).status).toBe('403 SESSION_NOT_FRESH')
    expect((await ada.call('addPasskey', { response, name: 'Phone' })).status).toBe('403 SESSION_NOT_FRESH')
  })

  test('stops at 20 passkeys', async () => {
    const db = auth.db.$extendTables<{ passkeyCredential: Record<string, unknown> }>()
    expect((await ada.addPasskey(new Authenticator())).status).toBe('200')
    const { body } = await ada.call('createPasskeyOptions')
    const createdAt = auth.clock.now()
    const row = {
      userId: user.userId,
      name: 'x',
      publicKey: 'x',
      counter: 0,
      transports: '[]',
      synced: false,
    }
    const rows = Array.from({ length: 19 }, () => ({ ...row, id: crypto.randomUUID(), createdAt }))
    await db.insertInto('passkeyCredential').values(rows).execute()
    expect((await ada.call('createPasskeyOptions')).status).toBe('409 TOO_MANY_PASSKEYS')
    const response = new Authenticator().create(body)
    expect((await ada.call('addPasskey', { response, name: 'x' })).status).toBe('409 TOO_MANY_PASSKEYS')
  })
})

describe('several passkeys', () => {
  test('are listed by name, the newest first, and can be renamed', async () => {
    const [laptop, phone] = [new Authenticator(), new Authenticator()]
    await ada.addPasskey(laptop, {}, { name: 'Laptop' })
    auth.clock.advance(1)
    await ada.addPasskey(phone, { isSynced: true }, { name: ' Phone ' })
    expect((await ada.call('listPasskeys')).body.passkeys).toEqual([
      expect.objectContaining({ id: phone.id, name: 'Phone', synced: true, lastUsedAt: null }),
      expect.objectContaining({ id: laptop.id, name: 'Laptop', synced: false, lastUsedAt: null }),
    ])
    expect((await ada.call('renamePasskey', { id: phone.id, name: 'Pixel' })).status).toBe('200')
    expect(await namesOf(ada)).toEqual(['Pixel', 'Laptop'])
  })

  test("are listed with an empty date if theirs was changed by hand and can't be read", async () => {
    const key = new Authenticator()
    await ada.addPasskey(key)
    const changed = withOwnTables(auth.db).updateTable('passkeyCredential')
    const dates = { createdAt: sql<Date>`'long ago'`, lastUsedAt: sql<Date>`'today'` }
    await changed.set(dates).where('userId', '=', user.userId).execute()
    const listed = { id: key.id, createdAt: '', lastUsedAt: '' }
    expect((await ada.call('listPasskeys')).body.passkeys).toMatchObject([listed])
  })

  test.each([
    ['is empty', ' '],
    ['is too long', 'x'.repeat(65)],
    ['has a line break', 'Laptop\nBcc: eve@example'],
    ['reorders the text', 'Lap\u202epot'],
    ['is a link', 'https://evil.example/x'],
  ])('reject a name that %s', async (_what, name) => {
    const invalid = { status: '400 INVALID_INPUT', body: { fields: ['name'] } }
    const { body } = await ada.call('createPasskeyOptions')
    const response = new Authenticator().create(body)
    expect(await ada.call('addPasskey', { response, name })).toMatchObject(invalid)
    expect(await ada.call('renamePasskey', { id: response.id, name })).toMatchObject(invalid)
    expect((await ada.call('addPasskey', { response, name: 'x'.repeat(64) })).status).toBe('200')
  })

  test('of another user can be neither renamed nor removed', async () => {
    const laptop = new Authenticator()
    await ada.addPasskey(laptop)
    const other = await auth.createUser()
    const bob = open()
    await bob.signIn(other.email)
    for (const id of [laptop.id, 'unknown']) {
      expect((await bob.call('renamePasskey', { id, name: 'x' })).status).toBe('404 PASSKEY_NOT_FOUND')
      expect((await bob.call('removePasskey', { id })).status).toBe('404 PASSKEY_NOT_FOUND')
    }
    expect(await namesOf(ada)).toEqual(['Laptop'])
  })
})

describe('removing', () => {
  test('ends its sign-ins and the other sessions, and replaces the credentials of this session', async () => {
    const [laptop, phone] = [new Authenticator(), new Authenticator()]
    await ada.addPasskey(laptop)
    await ada.addPasskey(phone)
    const thief = open()
    await thief.signInPasskey(phone)
    const copy = open()
    copy.cookie = ada.cookie
    expect((await ada.call('removePasskey', { id: phone.id })).status).toBe('200')
    expect((await thief.call('getSession')).status).toBe('401 SESSION_NOT_FOUND')
    expect((await copy.call('getSession')).status).toBe('401 TOKEN_INVALID')
    expect((await open().signInPasskey(phone)).status).toBe('400 PASSKEY_INVALID')
    expect((await open().signInPasskey(laptop)).status).toBe('200')
    expect(await methodsOf(ada)).toEqual(['pwd', 'passkey'])
    const notice = { kind: 'passkey-removed', to: user.email, passkey: { name: 'Laptop' } }
    await eventually(() => expect(emails).toContainEqual(expect.objectContaining(notice)))
    expect(await readAudit(auth, user.userId)).toContainEqual(
      expect.objectContaining({ type: 'passkeys:removed', passkeyId: phone.id }),
    )
  })

  test('the last one removes the factor, also from the proofs of all sessions', async () => {
    const laptop = new Authenticator()
    await ada.addPasskey(laptop)
    const other = open()
    await other.signInPasskey(laptop)
    expect((await ada.call('removePasskey', { id: laptop.id, revokeOtherSessions: false })).status).toBe(
      '200',
    )
    expect(await methodsOf(ada)).toEqual(['pwd'])
    expect(await methodsOf(other)).toEqual([])
    expect((await open().signIn(user.email)).status).toBe('200')
  })

  test('the last one is rejected without another way to sign in', async () => {
    const [laptop, phone] = [new Authenticator(), new Authenticator()]
    await ada.addPasskey(laptop)
    await ada.addPasskey(phone)
    const accounts = auth.db.updateTable('account').where('userId', '=', user.userId)
    await accounts.set({ password: null }).execute()
    expect((await ada.call('removePasskey', { id: phone.id })).status).toBe('200')
    expect((await ada.call('removePasskey', { id: laptop.id })).status).toBe('409 LAST_WAY_IN')
    expect(await namesOf(ada)).toEqual(['Laptop'])
    await accounts.set({ password: 'a hash' }).execute()
    expect((await ada.call('removePasskey', { id: laptop.id })).status).toBe('200')
  })

  test('needs a recent sign-in', async () => {
    const laptop = new Authenticator()
    await ada.addPasskey(laptop)
    auth.clock.advance(14 * 60)
    await ada.call('token')
    auth.clock.advance(120)
    await ada.call('token')
    expect((await ada.call('removePasskey', { id: laptop.id })).status).toBe('403 SESSION_NOT_FRESH')
  })
})

test('the factor can be removed from an account, with the proofs of its sessions', async () => {
  const laptop = new Authenticator()
  await ada.addPasskey(laptop)
  const { secondFactor } = passkeys()
  expect(await secondFactor?.methodsOf(user.userId, auth.db)).toEqual(['passkey'])
  await commit(auth.database, async (trx) => secondFactor?.remove(user.userId, trx))
  expect(await secondFactor?.methodsOf(user.userId, auth.db)).toEqual([])
  expect(await methodsOf(ada)).toEqual(['pwd'])
})

describe('settings', () => {
  test('accept the pages of more origins, and a parent domain', async () => {
    const options = { rpId: 'example.com', origins: ['https://app.example.com'], appName: 'Example' }
    const shared = await createPasskeyAuth(options)
    const { email } = await shared.auth.createUser()
    const browser = shared.open()
    await browser.signIn(email)
    const { body } = await browser.call('createPasskeyOptions')
    expect(body.rp).toEqual({ id: 'example.com', name: 'Example' })
    const [laptop, origin] = [new Authenticator(), 'https://app.example.com']
    expect((await browser.addPasskey(laptop, { origin })).status).toBe('200')
    expect((await shared.open().signInPasskey(laptop, { origin })).status).toBe('200')
    const evil = { origin: 'https://evil.example.com' }
    expect((await shared.open().signInPasskey(laptop, evil)).status).toBe('400 PASSKEY_INVALID')
  })

  test.each(['app.example.com', 'https://app.example.com/', 'https://*.example.com/x'])(
    'reject %s as an origin',
    (origin) => expect(() => passkeys({ origins: [origin] })).toThrow('passkeys.origins'),
  )

  test.each(['', 'https://example.com', 'example.com:3000', 'Example.com', 'example.com/sign-in'])(
    'reject %s as a domain',
    (rpId) => expect(() => passkeys({ rpId })).toThrow('passkeys.rpId'),
  )

  test('reject a limit that is not positive', () => {
    const limits = { account: { points: 0, duration: 60 } }
    expect(() => passkeys({ limits })).toThrow('limits.account.points')
  })
})

test('a program with the session header signs in without cookies', async () => {
  const laptop = new Authenticator()
  await ada.addPasskey(laptop)
  const call = async (path: string, body: object) => {
    const url = `http://localhost:3000/api/auth${path}`
    const headers = { 'content-type': 'application/json', 'x-sallyport': '1', 'x-sallyport-session': 'none' }
    const response = await auth.handler(
      new Request(url, { method: 'POST', headers, body: JSON.stringify(body) }),
    )
    return { cookies: response.headers.getSetCookie(), body: await response.json() }
  }
  const options = await call('/create-passkey-sign-in-options', {})
  expect(options.cookies).toEqual([])
  const { body } = await call('/sign-in/passkey', { response: laptop.get(options.body) })
  expect(body).toMatchObject({ userId: user.userId, sessionToken: expect.any(String) })
  // A browser that has none of our cookies isn't such a program.
  const again = await call('/create-passkey-sign-in-options', {})
  const reply = await open().call('signInPasskey', { response: laptop.get(again.body) })
  expect(reply.status).toBe('400 PASSKEY_TIMEOUT')
})
