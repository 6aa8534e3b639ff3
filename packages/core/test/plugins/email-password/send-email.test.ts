import type { AuthFailure } from '@sallyport/core'
import { createAuth } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import type { AttemptLimits, SendEmail } from '@sallyport/core/plugins/email-password'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { dumpTables } from '../../support/dump-tables.ts'
import { eventually } from '../../support/eventually.ts'
import { insertLink } from '../../support/insert-link.ts'
import { createOutbox } from '../../support/outbox.ts'
import { cookiesAfter, post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'

const sendEmail = vi.fn<SendEmail>()
const onFailure = vi.fn<(failure: AuthFailure) => void>()
const outbox = createOutbox()
const createFailing = () => createTestAuth({ emailPassword: { sendEmail }, onFailure })
const [failing, throwing] = [await createFailing(), await createFailing()]
const working = await createTestAuth({ emailPassword: { sendEmail: outbox.sendEmail } })
const without = await createTestAuth()
afterAll(() => Promise.all([failing.close(), throwing.close(), working.close(), without.close()]))

type Auth = typeof failing
async function createAda(auth: Auth) {
  const user = await auth.createUser()
  return { ...user, ...(await auth.signIn(user)) }
}
type Ada = Awaited<ReturnType<typeof createAda>>

/** Every endpoint that sends an email, with its input. */
const SENDERS = {
  signUpEmail: async () => ({
    name: 'Ada',
    email: `${crypto.randomUUID()}@example.com`,
    password: 'a rare one',
  }),
  requestPasswordReset: async ({ email }: Ada) => ({ email }),
  sendVerificationEmail: async () => ({}),
  changeEmail: async () => ({ newEmail: `${crypto.randomUUID()}@example.com` }),
  changePassword: async () => ({ currentPassword: TEST_PASSWORD, newPassword: 'another rare password' }),
  resetPassword: async (ada: Ada, auth: Auth) => ({
    token: await insertLink(auth, { kind: 'reset-password', ...ada }),
    newPassword: 'another rare password',
  }),
  verifyEmail: async ({ userId }: Ada, auth: Auth) => ({
    token: await insertLink(auth, {
      kind: 'change-email',
      userId,
      email: `${crypto.randomUUID()}@example.com`,
    }),
  }),
}
type Sender = keyof typeof SENDERS
const NAMES = Object.keys(SENDERS) as Sender[]

async function call(name: Sender, auth: Auth) {
  const ada = await createAda(auth)
  const body = await SENDERS[name](ada, auth)
  return auth.handler(post(ENDPOINTS[name].path, body, { cookie: ada.cookie }))
}
const bodyOf = async (response: Response) => {
  const { expiresAt: _, userId: _userId, sessionId: _sessionId, ...body } = await response.json()
  return { status: response.status, body }
}

describe("an email that can't be sent is reported to onFailure, and the response stays the same", () => {
  const failure = new Error('mailbox full')
  const FAILURES: Record<string, SendEmail> = {
    rejects: () => Promise.reject(failure),
    'throws synchronously': () => {
      throw failure
    },
  }

  test.each(NAMES.flatMap((name) => Object.entries(FAILURES).map(([how, send]) => ({ name, how, send }))))(
    '$name, if sendEmail $how',
    async ({ name, how, send }) => {
      sendEmail.mockReset().mockImplementation(send)
      onFailure.mockClear()
      const answer = await bodyOf(await call(name, how === 'rejects' ? failing : throwing))
      expect(answer).toEqual(await bodyOf(await call(name, working)))
      expect(answer.status).toBe(200)
      const { path } = ENDPOINTS[name]
      await eventually(() =>
        expect(onFailure).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ path, cause: failure })),
      )
      expect(sendEmail).toHaveBeenCalledOnce()
    },
  )

  test('a sendEmail that never ends blocks no caller', async () => {
    sendEmail.mockReset().mockImplementation(() => new Promise(() => {}))
    for (const name of NAMES) expect((await call(name, failing)).status).toBe(200)
  })
})

describe('waitUntil', () => {
  const requestReset = async (waitUntil: (work: Promise<unknown>) => unknown) => {
    const auth = await createFailing()
    onTestFinished(() => auth.close())
    const { email } = await auth.createUser()
    const { handler } = await createAuth({ ...auth.definition, waitUntil }, auth.database)
    return handler(post(ENDPOINTS.requestPasswordReset.path, { email }))
  }

  test('gets a promise that ends when the email is sent', async () => {
    const isSent = Promise.withResolvers<void>()
    sendEmail.mockReset().mockReturnValue(isSent.promise)
    let isOver = false
    const waitUntil = vi.fn((work: Promise<unknown>) => work.then(() => (isOver = true)))
    expect((await requestReset(waitUntil)).status).toBe(200)
    expect(waitUntil).toHaveBeenCalledOnce()
    await eventually(() => expect(sendEmail).toHaveBeenCalledOnce())
    expect(isOver).toBe(false)
    isSent.resolve()
    await eventually(() => expect(isOver).toBe(true))
  })

  const cause = new Error('outside of a request')
  test.each([
    [
      'throws',
      () => {
        throw cause
      },
    ],
    ['rejects', () => Promise.reject(cause)],
  ])('that %s is reported, and the email is sent', async (_how, waitUntil) => {
    sendEmail.mockReset()
    onFailure.mockClear()
    expect((await requestReset(waitUntil)).status).toBe(200)
    await eventually(() => expect(sendEmail).toHaveBeenCalledOnce())
    const failure = { path: '/request-password-reset', cause, code: 'AFTER_RESPONSE_FAILED' }
    expect(onFailure).toHaveBeenCalledExactlyOnceWith(expect.objectContaining(failure))
  })
})

describe('without sendEmail', () => {
  test.each(['requestPasswordReset', 'sendVerificationEmail', 'changeEmail'] as const)(
    '%s is 501, and changes nothing',
    async (name) => {
      const ada = await createAda(without)
      const before = await dumpTables(without)
      const body = await SENDERS[name](ada)
      const response = await without.handler(post(ENDPOINTS[name].path, body, { cookie: ada.cookie }))
      expect(await statusOf(response)).toBe('501 EMAIL_UNAVAILABLE')
      expect(await dumpTables(without)).toEqual(before)
    },
  )

  test('requestPasswordReset is also 501 for an unknown address', async () => {
    const unknown = { email: `${crypto.randomUUID()}@example.com` }
    expect(await statusOf(without.handler(post(ENDPOINTS.requestPasswordReset.path, unknown)))).toBe(
      '501 EMAIL_UNAVAILABLE',
    )
  })

  test.each(['signUpEmail', 'changePassword', 'resetPassword', 'verifyEmail'] as const)(
    '%s succeeds, and creates no link',
    async (name) => {
      expect((await call(name, without)).status).toBe(200)
      expect((await dumpTables(without)).verification).toEqual([])
    },
  )

  test('checks the caller first', async () => {
    for (const name of ['sendVerificationEmail', 'changeEmail'] as const)
      expect(await statusOf(without.handler(post(ENDPOINTS[name].path, {})))).toBe('401 TOKEN_MISSING')
  })
})

describe('emails to one address', () => {
  const PLENTY = { points: 1_000_000, duration: 60 }
  async function start(limits?: Partial<AttemptLimits>) {
    const sent = createOutbox()
    const auth = await createTestAuth({
      emailPassword: { sendEmail: sent.sendEmail, limits: { address: PLENTY, account: PLENTY, ...limits } },
      // Deferred work may find the database closed.
      onFailure: () => {},
    })
    onTestFinished(() => auth.close())
    return { auth, sent, user: await auth.createUser() }
  }
  const ask = (
    { auth }: { auth: Auth },
    email: string,
    { from, cookie }: { from?: string; cookie?: string } = {},
  ) =>
    auth.handler(
      post(ENDPOINTS.requestPasswordReset.path, { email }, { ...(cookie !== undefined && { cookie }) }),
      { remoteAddress: from },
    )
  const times = async (many: number, work: (i: number) => Promise<Response>) => {
    const answers: string[] = []
    for (let i = 0; i < many; i++) {
      const response = await work(i)
      answers.push(`${response.status} ${await response.text()}`)
    }
    return answers
  }
  const OK = '200 {"success":true}'
  /** Returns how many emails an address received, after all requests so far have been processed. */
  const countOf = async ({ auth, sent }: { auth: Auth; sent: typeof outbox }, email: string) => {
    const marker = await auth.createUser()
    await ask({ auth }, marker.email, { from: '198.51.100.200' })
    await eventually(() => expect(sent.emails.some(({ to }) => to === marker.email)).toBe(true))
    return sent.emails.filter(({ to, kind }) => to === email && kind !== 'new-sign-in').length
  }
  const sendVerification = ({ auth }: { auth: Auth }, cookie: string) =>
    statusOf(auth.handler(post(ENDPOINTS.sendVerificationEmail.path, {}, { cookie })))

  test('are limited to five an hour per requesting network, and 20 in total', async () => {
    const scene = await start()
    const { email } = scene.user
    expect(await times(7, () => ask(scene, email, { from: '192.0.2.1' }))).toEqual(Array(7).fill(OK))
    expect(await countOf(scene, email)).toBe(5)
    // A /64 of IPv6 is one network.
    expect(await times(7, (i) => ask(scene, email, { from: `2001:db8::${i}` }))).toEqual(Array(7).fill(OK))
    expect(await countOf(scene, email)).toBe(10)
    expect(await times(15, (i) => ask(scene, email, { from: `198.51.100.${i}` }))).toEqual(Array(15).fill(OK))
    expect(await countOf(scene, email)).toBe(20)
  })

  test('over the budget get the same response, whether the account exists or not, and write no link', async () => {
    const scene = await start({ email: { points: 1, duration: 60 } })
    const responses = []
    for (const email of [scene.user.email, `${crypto.randomUUID()}@example.com`]) {
      await ask(scene, email)
      responses.push(await ask(scene, email))
    }
    const [known, unknown] = responses
    expect([unknown?.status, await unknown?.text()]).toEqual([known?.status, await known?.text()])
    expect([...(unknown?.headers ?? [])]).toEqual([...(known?.headers ?? [])])
    expect(await countOf(scene, scene.user.email)).toBe(1)
    const links = (await dumpTables(scene.auth)).verification ?? []
    expect(links.filter(({ userId }) => userId === scene.user.userId)).toHaveLength(1)
  })

  test('are five more for a device that the account knows, whatever others requested', async () => {
    const scene = await start({ address: { points: 10, duration: 60 } })
    const { email } = scene.user
    const { cookie } = await signInDevice(scene, email)
    await times(30, (i) => ask(scene, email, { from: `198.51.100.${i}` }))
    // The device's network has no attempts left either.
    await times(12, () => ask(scene, `${crypto.randomUUID()}@example.com`, { from: '192.0.2.1' }))
    expect(await countOf(scene, email)).toBe(20)
    expect(await times(5, () => ask(scene, email, { from: '192.0.2.1', cookie }))).toEqual(Array(5).fill(OK))
    expect(await countOf(scene, email)).toBe(25)
    await times(2, () => ask(scene, email, { from: '198.51.100.99', cookie }))
    expect(await countOf(scene, email)).toBe(25)
  })

  test("are five from the device's budget and five from its network's", async () => {
    const scene = await start()
    const { cookie } = await signInDevice(scene, scene.user.email)
    await times(12, () => ask(scene, scene.user.email, { from: '192.0.2.1', cookie }))
    expect(await countOf(scene, scene.user.email)).toBe(10)
  })

  test('are no more for a device of another account', async () => {
    const scene = await start()
    const { cookie } = await signInDevice(scene, (await scene.auth.createUser()).email)
    await times(7, () => ask(scene, scene.user.email, { from: '192.0.2.1', cookie }))
    expect(await countOf(scene, scene.user.email)).toBe(5)
  })

  test('are counted together for any case of the address', async () => {
    const scene = await start({ email: { points: 2, duration: 60 } })
    const { email } = scene.user
    for (const written of [email, ` ${email.toUpperCase()}`, `${email}\t`]) await ask(scene, written)
    expect(await countOf(scene, email)).toBe(2)
  })

  test("used up by others leave the user's own budget", async () => {
    const scene = await start({ email: { points: 2, duration: 60 } })
    const { cookie } = await scene.auth.signIn(scene.user)
    await times(4, () => ask(scene, scene.user.email))
    expect(await countOf(scene, scene.user.email)).toBe(2)
    expect(await sendVerification(scene, cookie)).toBe('200')
    expect(await sendVerification(scene, cookie)).toBe('200')
    expect(await sendVerification(scene, cookie)).toBe('429 RATE_LIMITED')
    expect(await countOf(scene, scene.user.email)).toBe(4)
  })

  test('are not used up by sign-ups for a taken address', async () => {
    const scene = await start()
    const { email } = scene.user
    const signUp = () =>
      scene.auth.handler(
        post(ENDPOINTS.signUpEmail.path, { name: 'Eve', email, password: 'a rare password' }),
      )
    expect(await statusOf(signUp())).toBe('409 EMAIL_TAKEN')
    for (let i = 0; i < 9; i++) await signUp()
    await times(5, () => ask(scene, email))
    expect(await countOf(scene, email)).toBe(5)
  })

  test("used up by others don't prevent a sign-up, which sends none", async () => {
    const scene = await start({ email: { points: 1, duration: 60 } })
    const email = `${crypto.randomUUID()}@example.com`
    await ask(scene, email)
    const account = { name: 'Ada', email, password: 'a rare password' }
    expect(await statusOf(scene.auth.handler(post(ENDPOINTS.signUpEmail.path, account)))).toBe('200')
    expect(await countOf(scene, email)).toBe(0)
  })

  test('to a new address are 429 for a user over the limit, and 200 if others used them up', async () => {
    const scene = await start({ email: { points: 2, duration: 60 } })
    const { cookie } = await scene.auth.signIn(scene.user)
    const change = (newEmail: string) =>
      statusOf(scene.auth.handler(post(ENDPOINTS.changeEmail.path, { newEmail }, { cookie })))
    const [busy, quiet] = [`${crypto.randomUUID()}@example.com`, `${crypto.randomUUID()}@example.com`]
    await times(2, () => ask(scene, busy))
    expect(await change(busy)).toBe('200')
    expect(await change(quiet)).toBe('200')
    expect(await change(`${crypto.randomUUID()}@example.com`)).toBe('429 RATE_LIMITED')
    expect(await countOf(scene, busy)).toBe(0)
    expect(await countOf(scene, quiet)).toBe(1)
  })
})

/** Signs in like a browser, and returns the device cookie. */
async function signInDevice({ auth }: { auth: Auth }, email: string): Promise<{ cookie: string }> {
  const response = await auth.handler(post(ENDPOINTS.signInEmail.path, { email, password: TEST_PASSWORD }))
  const pairs = cookiesAfter('', response).split('; ')
  return { cookie: pairs.filter((pair) => pair.startsWith('service.device=')).join('; ') }
}
