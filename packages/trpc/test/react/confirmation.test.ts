import { TEST_PASSWORD } from '@sallyport/core/testing'
import { authLink, createAuthClient, webSocketLink } from '@sallyport/trpc/client'
import { createTRPCClient, httpLink } from '@trpc/client'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { eventually } from '../../../core/test/support/eventually.ts'
import { createConfirmation } from '../../src/react/confirmation.ts'
import { cookieFetch } from '../support/cookie-fetch.ts'
import { type AppRouter, MAX_AGE } from '../support/router.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { ORIGIN } from '../support/visitor.ts'

const server = await startServer({ session: { freshForSeconds: MAX_AGE } })
afterAll(() => server.close())

type Api = TestServer['auth']['api']

/** Opens a browser whose sign-in is too old for a payment, and the confirmation that its hooks share. */
async function open() {
  const { auth, host } = server
  const sent: string[] = []
  const network = { lets: Promise.resolve() }
  const jar = cookieFetch()
  const client = createAuthClient<Api>({
    isServer: false,
    baseUrl: `http://${host}`,
    async fetch(input, init) {
      sent.push(new URL(String(input)).pathname)
      await network.lets
      return jar.fetch(input, init)
    },
  })
  const signIn = async () => {
    const { email, userId } = await auth.createUser()
    await client.api.signInEmail({ email, password: TEST_PASSWORD })
    auth.clock.advance(MAX_AGE + 1)
    return userId
  }
  const userId = await signIn()
  const links = [httpLink({ url: `http://${host}/trpc`, fetch: client.fetch })]
  const trpc = createTRPCClient<AppRouter>({ links })
  const overSocket = () => {
    const cookies: string[] = []
    const Socket: unknown = class extends WebSocket {
      constructor(url: string | URL) {
        super(url, { headers: { origin: ORIGIN, cookie: jar.header() } })
        cookies.push(jar.header())
      }
    }
    const link = webSocketLink(client, {
      url: `ws://${host}/ws`,
      WebSocket: Socket as typeof globalThis.WebSocket,
    })
    onTestFinished(async () => void (await client.signOut()))
    return { trpc: createTRPCClient<AppRouter>({ links: [authLink(client), link] }), cookies }
  }
  const confirmation = createConfirmation(client)
  const pay = vi.fn(() => trpc.payment.mutate())
  return { client, trpc, overSocket, userId, signIn, sent, network, pay, ...confirmation }
}

/** For a call that doesn't say which proof it needs. */
const isAskingForAny = { isAsking: true, required: null, error: null }
const isAsking = { isAsking: true, required: { factor: null, maxAgeSeconds: MAX_AGE }, error: null }
const isNotAsking = { isAsking: false, required: null, error: null }
const right = { password: TEST_PASSWORD }
const wrong = { password: 'a wrong password' }
const notFresh = { data: { auth: { reason: 'SESSION_NOT_FRESH' } } }
const confirmations = (sent: readonly string[]) => sent.filter((path) => path.endsWith('/reauthenticate'))

describe('a call', () => {
  test('that is accepted runs once, and sends no other request', async () => {
    const { run, trpc, userId, get } = await open()
    const me = vi.fn(() => trpc.me.query())
    expect(await run(me)).toBe(userId)
    expect(me).toHaveBeenCalledOnce()
    expect(get()).toEqual(isNotAsking)
  })

  test('that is rejected for an old sign-in is repeated after the user confirms', async () => {
    const { run, pay, get, confirm, client } = await open()
    const paid = run(pay)
    await eventually(() => expect(get()).toEqual(isAsking))
    expect(pay).toHaveBeenCalledOnce()
    await confirm(right)
    expect(await paid).toBe(client.getState().sessionId)
    expect(pay).toHaveBeenCalledTimes(2)
    expect(get()).toEqual(isNotAsking)
  })

  test('over a socket is repeated with the new credentials, on a new socket', async () => {
    const { run, get, confirm, client, overSocket } = await open()
    const { trpc, cookies } = overSocket()
    await trpc.me.query()
    const paid = run(() => trpc.payment.mutate())
    await eventually(() => expect(get()).toEqual(isAsking))
    await confirm(right)
    expect(await paid).toBe(client.getState().sessionId)
    expect(new Set(cookies).size).toBe(2)
  })

  test('of an auth endpoint is repeated too', async () => {
    const { run, client, get, confirm } = await open()
    const deleted = run(() => client.api.deleteUser())
    await eventually(() => expect(get()).toEqual(isAsking))
    await confirm(right)
    expect(await deleted).toEqual({ success: true })
  })

  test('that needs a factor says so, and continues after any call that proves it', async () => {
    const { run, get, confirm } = await open()
    const required = { factor: 'totp', maxAgeSeconds: 60 } as const
    const error = { data: { auth: { reason: 'FACTOR_REQUIRED', required } } }
    const call = vi.fn(async () => 'done').mockRejectedValueOnce(error)
    const done = run(call)
    await eventually(() => expect(get()).toEqual({ isAsking: true, required, error: null }))
    await confirm(async () => Promise.reject(new Error('wrong code')))
    expect(get()).toMatchObject({ isAsking: true, required, error: { message: 'Error: wrong code' } })
    await confirm(() => {
      throw new Error('no camera')
    })
    expect(get()).toMatchObject({ isAsking: true, error: { message: 'Error: no camera' } })
    await confirm(async () => 'proved')
    expect(await done).toBe('done')
    expect(call).toHaveBeenCalledTimes(2)
    expect(get()).toEqual(isNotAsking)
  })

  test.each([
    { failure: 'with another reason', error: { data: { auth: { reason: 'ROLE_REQUIRED' } } } },
    { failure: 'of the app', error: { data: { code: 'NOT_FOUND', auth: null } } },
    { failure: 'without data', error: new Error('offline') },
    { failure: 'that is empty', error: undefined },
  ])('that fails with an error $failure fails, and sends no other request', async ({ error }) => {
    const { run, get } = await open()
    const call = vi.fn(() => Promise.reject(error))
    const failed = await run(call).then(
      () => 'done',
      (cause: unknown) => [cause],
    )
    expect(failed).toEqual([error])
    expect(call).toHaveBeenCalledOnce()
    expect(get()).toEqual(isNotAsking)
  })

  test('that is rejected again after the confirmation fails instead of asking again', async () => {
    const { run, get, confirm } = await open()
    const call = vi.fn(() => Promise.reject(notFresh))
    const failed = expect(run(call)).rejects.toBe(notFresh)
    await eventually(() => expect(get()).toEqual(isAskingForAny))
    await confirm(right)
    await failed
    expect(call).toHaveBeenCalledTimes(2)
    expect(get()).toEqual(isNotAsking)
  })
})

describe('the user', () => {
  test('is asked again after a wrong password, and then the call is repeated', async () => {
    const { run, pay, get, confirm, client } = await open()
    const paid = run(pay)
    await eventually(() => expect(get()).toEqual(isAsking))
    await confirm(wrong)
    expect(get()).toMatchObject({ isAsking: true, error: { code: 'INVALID_CREDENTIALS' } })
    expect(pay).toHaveBeenCalledOnce()
    await confirm(right)
    expect(await paid).toBe(client.getState().sessionId)
    expect(get()).toEqual(isNotAsking)
  })

  test('who cancels leaves the call with its own error', async () => {
    const { run, pay, get, cancel, sent } = await open()
    const paid = expect(run(pay)).rejects.toMatchObject(notFresh)
    await eventually(() => expect(get()).toEqual(isAsking))
    cancel()
    await paid
    expect(get()).toEqual(isNotAsking)
    expect(pay).toHaveBeenCalledOnce()
    expect(confirmations(sent)).toEqual([])
  })

  test('is asked once for calls that are rejected together', async () => {
    const { run, pay, trpc, get, subscribe, confirm, client, sent } = await open()
    let times = 0
    subscribe(() => {
      if (get().isAsking) times++
    })
    const both = Promise.all([run(pay), run(() => trpc.balance.query()), run(pay)])
    await eventually(() => expect(pay).toHaveBeenCalledTimes(2))
    await eventually(() => expect(get()).toEqual(isAsking))
    await confirm(right)
    expect(await both).toEqual(Array(3).fill(client.getState().sessionId))
    expect([times, confirmations(sent).length]).toEqual([1, 1])
  })

  test('is asked again for a call that needs another proof than the one of another call', async () => {
    const { run, get, confirm } = await open()
    const proved = new Set<string>()
    const needing = (factor: 'totp' | 'passkey') => {
      const required = { factor, maxAgeSeconds: 60 }
      const error = { data: { auth: { reason: 'FACTOR_REQUIRED', required } } }
      return vi.fn(async () => (proved.has(factor) ? factor : Promise.reject(error)))
    }
    const [totp, passkey] = [needing('totp'), needing('passkey')]
    const { promise: sent, resolve: arrive } = Promise.withResolvers<string>()
    const late = needing('passkey').mockImplementationOnce(() => sent.then(() => passkey()))
    const all = Promise.all([run(totp), run(passkey), run(late)])
    await eventually(() => expect(get()).toMatchObject({ isAsking: true, required: { factor: 'totp' } }))
    await confirm(async () => proved.add('totp'))
    arrive('')
    await eventually(() => expect(get()).toMatchObject({ isAsking: true, required: { factor: 'passkey' } }))
    await confirm(async () => proved.add('passkey'))
    expect(await all).toEqual(['totp', 'passkey', 'passkey'])
    expect(get()).toEqual(isNotAsking)
  })

  test('who cancels the prompt of another call is not asked for the calls that wait for it', async () => {
    const { run, get, cancel } = await open()
    // Both are rejected before the user cancels.
    const call = vi.fn(() => Promise.reject(notFresh))
    const both = Promise.allSettled([run(call), run(call)])
    await eventually(() => expect(get()).toEqual(isAskingForAny))
    cancel()
    expect(await both).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }])
    expect(get()).toEqual(isNotAsking)
    expect(call).toHaveBeenCalledTimes(2)
  })

  test('is not asked for a call that was sent before the confirmation and is rejected afterwards', async () => {
    const { run, pay, get, confirm } = await open()
    const { promise: rejection, reject } = Promise.withResolvers<string>()
    const late = vi.fn(() => Promise.resolve('done')).mockReturnValueOnce(rejection)
    const both = Promise.all([run(late), run(pay)])
    await eventually(() => expect(get()).toEqual(isAsking))
    await confirm(right)
    reject(notFresh)
    expect((await both)[0]).toBe('done')
    expect(get()).toEqual(isNotAsking)
  })

  test('is not affected by a late rejection of a call of the former user', async () => {
    const { run, pay, get, confirm, signIn } = await open()
    const { promise: rejection, reject } = Promise.withResolvers<string>()
    const failed = expect(run(() => rejection)).rejects.toBe(notFresh)
    await signIn()
    const paid = run(pay)
    await eventually(() => expect(get()).toEqual(isAsking))
    reject(notFresh)
    await failed
    expect(get()).toEqual(isAsking)
    await confirm(right)
    await paid
  })

  test('who has confirmed does not repeat a call of the former user', async () => {
    const { run, pay, get, confirm, signIn } = await open()
    const { promise: rejection, reject } = Promise.withResolvers<string>()
    const late = vi.fn(() => Promise.resolve('done')).mockReturnValueOnce(rejection)
    const failed = expect(run(late)).rejects.toBe(notFresh)
    await signIn()
    const paid = run(pay)
    await eventually(() => expect(get()).toEqual(isAsking))
    await confirm(right)
    await paid
    reject(notFresh)
    await failed
    expect(late).toHaveBeenCalledOnce()
  })

  test('who cancels while the password is being checked sees no error about it afterwards', async () => {
    const { run, pay, get, confirm, cancel } = await open()
    const first = expect(run(pay)).rejects.toMatchObject(notFresh)
    await eventually(() => expect(get()).toEqual(isAsking))
    const answered = confirm(wrong)
    cancel()
    await first
    const second = run(pay)
    await eventually(() => expect(get()).toEqual(isAsking))
    await answered
    expect(get()).toEqual(isAsking)
    await confirm(right)
    await second
  })

  test('who cancels while the password is being checked is still asked for the next call', async () => {
    const { run, pay, get, confirm, cancel, network } = await open()
    const first = expect(run(pay)).rejects.toMatchObject(notFresh)
    await eventually(() => expect(get()).toEqual(isAsking))
    const { promise, resolve } = Promise.withResolvers<void>()
    network.lets = promise
    const answered = confirm(right)
    cancel()
    await first
    const second = run(vi.fn(() => Promise.resolve('done')).mockRejectedValueOnce(notFresh))
    await eventually(() => expect(get()).toEqual(isAskingForAny))
    resolve()
    await answered
    expect(get()).toEqual(isAskingForAny)
    await confirm(right)
    expect(await second).toBe('done')
  })

  test("who isn't asked sends nothing by confirming", async () => {
    const { confirm, cancel, sent, get } = await open()
    await confirm(right)
    cancel()
    expect(confirmations(sent)).toEqual([])
    expect(get()).toEqual(isNotAsking)
  })
})

describe('a confirmation ends', () => {
  test.each([
    { end: 'signs out', act: ({ client }: Awaited<ReturnType<typeof open>>) => client.signOut() },
    {
      end: 'changes',
      act: ({ signIn }: Awaited<ReturnType<typeof open>>) => signIn(),
    },
  ])('when the user $end: the call fails with its own error', async ({ act }) => {
    const opened = await open()
    const { run, pay, get, sent } = opened
    const paid = expect(run(pay)).rejects.toMatchObject(notFresh)
    await eventually(() => expect(get()).toEqual(isAsking))
    await act(opened)
    await paid
    expect(get()).toEqual(isNotAsking)
    expect(pay).toHaveBeenCalledOnce()
    expect(confirmations(sent)).toEqual([])
  })

  test('as soon as the user starts to sign out, before the server has responded', async () => {
    const { run, pay, get, client, network } = await open()
    const paid = expect(run(pay)).rejects.toMatchObject(notFresh)
    await eventually(() => expect(get()).toEqual(isAsking))
    const { promise, resolve } = Promise.withResolvers<void>()
    network.lets = promise
    const left = client.signOut()
    expect([client.getState().status, get()]).toEqual(['signing-out', isNotAsking])
    await paid
    resolve()
    await left
  })

  test('for no other reason: not for a new token, and not for an earlier event', async () => {
    const { run, pay, get, cancel, client, signIn } = await open()
    const first = expect(run(pay)).rejects.toMatchObject(notFresh)
    await eventually(() => expect(get()).toEqual(isAsking))
    cancel()
    await first
    await signIn()
    const second = expect(run(pay)).rejects.toMatchObject(notFresh)
    await eventually(() => expect(get()).toEqual(isAsking))
    await client.refresh()
    expect(get()).toEqual(isAsking)
    cancel()
    await second
  })

  test('before it starts if the call is rejected after the user signed out', async () => {
    const { run, get, client } = await open()
    const { promise: rejection, reject } = Promise.withResolvers<string>()
    const failed = expect(run(() => rejection)).rejects.toBe(notFresh)
    await client.signOut()
    reject(notFresh)
    await failed
    expect(get()).toEqual(isNotAsking)
  })
})
