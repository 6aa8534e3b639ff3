import type { SendEmail } from '@sallyport/core/plugins'
import { ENDPOINTS } from '@sallyport/core/protocol'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { answerOf } from '../../support/answer-of.ts'
import { dumpTables } from '../../support/dump-tables.ts'
import { insertLink } from '../../support/insert-link.ts'
import { createOutbox } from '../../support/outbox.ts'
import { post } from '../../support/requests.ts'
import { createUserMaker } from '../../support/user-maker.ts'

const sendEmail = vi.fn<SendEmail>()
const onError = vi.fn<(error: unknown) => void>()
const outbox = createOutbox()
const failing = await createTestAuth({ emailPassword: { sendEmail }, onError })
const working = await createTestAuth({ emailPassword: { sendEmail: outbox.sendEmail } })
const without = await createTestAuth()
const makers = new Map(
  await Promise.all(
    [failing, working, without].map(async (auth) => [auth, await createUserMaker(auth)] as const),
  ),
)
afterAll(() => Promise.all([failing.close(), working.close(), without.close()]))

type Auth = typeof failing
async function createAda(auth: Auth) {
  const make = makers.get(auth)
  if (make === undefined) throw new TypeError('No maker')
  const user = await make()
  return { ...user, ...(await auth.signIn(user)) }
}
type Ada = Awaited<ReturnType<typeof createAda>>

/** Every endpoint that sends an email, and what it is sent. */
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

describe('an email that cannot be sent is told to onError, and the answer is as if it had been', () => {
  const failure = new Error('mailbox full')
  const FAILURES: Record<string, SendEmail> = {
    rejects: () => Promise.reject(failure),
    'throws at once': () => {
      throw failure
    },
  }

  test.each(NAMES.flatMap((name) => Object.entries(FAILURES).map(([how, send]) => ({ name, how, send }))))(
    '$name, where sendEmail $how',
    async ({ name, send }) => {
      sendEmail.mockReset().mockImplementation(send)
      onError.mockClear()
      const answer = await bodyOf(await call(name, failing))
      expect(answer).toEqual(await bodyOf(await call(name, working)))
      expect(answer.status).toBe(200)
      await vi.waitFor(() => expect(onError).toHaveBeenCalledExactlyOnceWith(failure), { interval: 2 })
      expect(sendEmail).toHaveBeenCalledOnce()
    },
  )

  test('an email that never ends keeps nobody waiting', async () => {
    sendEmail.mockReset().mockImplementation(() => new Promise(() => {}))
    for (const name of NAMES) expect((await call(name, failing)).status).toBe(200)
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
      expect(await answerOf(response)).toBe('501 EMAIL_UNAVAILABLE')
      expect(await dumpTables(without)).toEqual(before)
    },
  )

  test('requestPasswordReset is 501 for an unknown address too', async () => {
    const unknown = { email: `${crypto.randomUUID()}@example.com` }
    expect(await answerOf(without.handler(post(ENDPOINTS.requestPasswordReset.path, unknown)))).toBe(
      '501 EMAIL_UNAVAILABLE',
    )
  })

  test.each(['signUpEmail', 'changePassword', 'resetPassword', 'verifyEmail'] as const)(
    '%s does its work, and makes no link',
    async (name) => {
      expect((await call(name, without)).status).toBe(200)
      expect((await dumpTables(without)).verification).toEqual([])
    },
  )

  test('whoever may not call is told that first', async () => {
    for (const name of ['sendVerificationEmail', 'changeEmail'] as const)
      expect(await answerOf(without.handler(post(ENDPOINTS[name].path, {})))).toBe('401 TOKEN_MISSING')
  })
})

describe('emails to one address', () => {
  const limited = () =>
    createTestAuth({
      emailPassword: { sendEmail: outbox.sendEmail, limits: { email: { points: 2, duration: 60 } } },
      // What was left for later may find the database closed.
      onError: () => {},
    })
  const ask = (auth: Auth, email: string, remoteAddress?: string) =>
    auth.handler(post(ENDPOINTS.requestPasswordReset.path, { email }), { remoteAddress })

  test('are counted by address, whoever asks, and whether there is such an account or not', async () => {
    const auth = await limited()
    const { email } = await auth.createUser()
    for (const address of [email, `${crypto.randomUUID()}@example.com`]) {
      const answers = []
      for (const remoteAddress of ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
        answers.push(await ask(auth, address, remoteAddress))
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
      expect(answers[2]?.headers.get('retry-after')).toBe('60')
    }
    await vi.waitFor(() => expect(outbox.emails.filter(({ to }) => to === email)).toHaveLength(2), {
      interval: 2,
    })
    await auth.close()
  })

  test('are counted together, in whatever letters the address is written and for whatever they are', async () => {
    const auth = await limited()
    const { userId, email } = await auth.createUser()
    const { cookie } = await auth.signIn({ userId })
    const verification = () =>
      answerOf(auth.handler(post(ENDPOINTS.sendVerificationEmail.path, {}, { cookie })))
    expect(await answerOf(ask(auth, email))).toBe('200')
    expect(await answerOf(ask(auth, ` ${email.toUpperCase()}`))).toBe('200')
    expect(await verification()).toBe('429 RATE_LIMITED')
    await vi.waitFor(() => expect(outbox.emails.filter(({ to }) => to === email)).toHaveLength(2), {
      interval: 2,
    })
    await auth.close()
  })
})
