import { createAuthClient } from '@sallyport/trpc/client'
import type { HydrationState } from '@sallyport/trpc/ssr'
import { describe, expect, test, vi } from 'vitest'
import { scriptFetch, tokens } from '../support/scripted-fetch.ts'

const ada: HydrationState = { status: 'authenticated', userId: 'ada', sessionId: 'ada-1', expiresIn: 900 }
const asGrace = () => tokens({ userId: 'grace', sessionId: 'grace-1' })

interface Api {
  signInEmail(input: { email: string; password: string }): Promise<object>
}

/** Creates the client of a page in a browser, whose server signs in Grace. */
function open(options: Parameters<typeof createAuthClient<Api>>[0]) {
  const { answer, fetch } = scriptFetch()
  answer('/sign-in/email', asGrace)
  const client = createAuthClient<Api>({ isServer: false, baseUrl: 'http://localhost', fetch, ...options })
  return { client, signIn: () => client.api.signInEmail({ email: 'grace@example.com', password: 'x' }) }
}

describe('a function that returns the rendered state', () => {
  test('is called once in a browser, at the first use', () => {
    const hydrate = vi.fn(() => ada)
    const { client } = open({ hydrate })
    expect(hydrate).not.toHaveBeenCalled()
    expect(client.getState()).toMatchObject({ status: 'authenticated', userId: 'ada' })
    expect(client.getState()).toBe(client.getServerState())
    expect(hydrate).toHaveBeenCalledOnce()
  })

  test('may return nothing', () => {
    expect(open({ hydrate: () => undefined }).client.getState().status).toBe('loading')
  })

  test('is called at each use on a server, until a call of the client itself fails', async () => {
    let state: HydrationState = ada
    const { client } = open({ isServer: true, hydrate: () => state })
    expect(client.getState().status).toBe('authenticated')
    state = { status: 'unauthenticated' }
    expect(client.getState().status).toBe('unauthenticated')
    expect(client.getServerState().status).toBe('unauthenticated')
    expect((await client.signOut()).error).not.toBeNull()
  })

  test("returns the first render's state after a change", async () => {
    const { client, signIn } = open({ hydrate: () => ada })
    await signIn()
    expect(client.getState().userId).toBe('grace')
    expect(client.getServerState().userId).toBe('ada')
  })
})

test('without a JWT, the first state is created without a clock, which Next.js would reject in a static page', () => {
  const clocks = [vi.spyOn(Date, 'now'), vi.spyOn(performance, 'now')]
  open({ isServer: true, hydrate: () => undefined }).client.getServerState()
  open({ isServer: true, hydrate: { status: 'unauthenticated' } })
  open({ isServer: true })
  for (const clock of clocks) expect(clock).not.toHaveBeenCalled()
  vi.restoreAllMocks()
})

describe('onUserChange', () => {
  test('is called once for each change, before listeners, and sees the new user', async () => {
    const calls: string[] = []
    const { client, signIn } = open({
      hydrate: ada,
      onUserChange: () => calls.push(`change to ${client.getState().userId}`),
    })
    client.subscribe(() => calls.push(`listener: ${client.getState().userId}`))()
    expect(calls).toEqual([])
    const stop = client.subscribe(() => calls.push(`listener: ${client.getState().userId}`))
    await signIn()
    stop()
    expect(calls).toEqual(['change to grace', 'listener: grace'])
    await signIn()
    expect(calls.filter((call) => call.startsWith('change'))).toHaveLength(1)
  })

  test('may throw: listeners are still called', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const error = new Error('a mistake')
    const { client, signIn } = open({
      hydrate: ada,
      onUserChange() {
        throw error
      },
    })
    const listener = vi.fn()
    const stop = client.subscribe(listener)
    await signIn()
    stop()
    expect(listener).toHaveBeenCalled()
    expect(log.mock.calls).toEqual([[error]])
    log.mockRestore()
  })
})
