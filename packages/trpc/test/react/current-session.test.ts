import { TEST_PASSWORD } from '@sallyport/core/testing'
import { createAuthClient } from '@sallyport/trpc/client'
import { afterAll, expect, test } from 'vitest'
import { eventually } from '../../../core/test/support/eventually.ts'
import { createCurrentSession } from '../../src/react/current-session.ts'
import { cookieFetch } from '../support/cookie-fetch.ts'
import { startServer, type TestServer } from '../support/start-server.ts'

const server = await startServer()
afterAll(() => server.close())

type Api = TestServer['auth']['api']

/** Opens a browser whose user has just signed in. Responses of `/session` can be held back. */
async function open() {
  const { auth, host } = server
  const held: (() => void)[] = []
  let questions = 0
  const control = { isHolding: false, isOffline: false }
  const jar = cookieFetch()
  const client = createAuthClient<Api>({
    isServer: false,
    baseUrl: `http://${host}`,
    async fetch(input, init) {
      const isQuestion = String(input).endsWith('/session')
      if (isQuestion) questions++
      if (control.isOffline) throw new TypeError('Failed to fetch')
      const response = await jar.fetch(input, init)
      if (isQuestion && control.isHolding) await new Promise<void>((resolve) => held.push(resolve))
      return response
    },
  })
  const signIn = async () => {
    const { email, userId } = await auth.createUser()
    await client.api.signInEmail({ email, password: TEST_PASSWORD })
    return userId
  }
  const userId = await signIn()
  const current = createCurrentSession(client)
  return { client, ...current, userId, signIn, held, control, questions: () => questions }
}

test('the response to the latest request is shown, even if an earlier one arrives later', async () => {
  const { get, load, reload, held, control, client } = await open()
  control.isHolding = true
  load()
  await eventually(() => expect(held).toHaveLength(1))
  await client.api.updateUser({ name: 'Lovelace' })
  const asked = reload()
  await eventually(() => expect(held).toHaveLength(2))
  held[1]?.()
  await asked
  expect(get().data.user?.name).toBe('Lovelace')
  held[0]?.()
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect(get().data.user?.name).toBe('Lovelace')
})

test("a response about a previous user is dropped, and the new user's session is requested at once", async () => {
  const { get, load, signIn, held, control, questions } = await open()
  control.isHolding = true
  load()
  await eventually(() => expect(held).toHaveLength(1))
  const next = await signIn()
  control.isHolding = false
  load()
  await eventually(() => expect(get().data).toMatchObject({ user: { id: next } }))
  const answer = get()
  held[0]?.()
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect(get()).toBe(answer)
  expect(questions()).toBe(2)
})

test('a failed attempt keeps the previous data and shows the error; the next success clears it', async () => {
  const { get, reload, userId, control } = await open()
  await reload()
  control.isOffline = true
  for (const failures of [1, 2]) {
    await reload()
    expect(get()).toMatchObject({
      data: { user: { id: userId } },
      error: { code: 'UNREACHABLE', status: 0 },
      failures,
    })
  }
  control.isOffline = false
  await reload()
  expect(get()).toMatchObject({ data: { user: { id: userId } }, error: null, failures: 0 })
})
