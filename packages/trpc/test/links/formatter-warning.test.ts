import { authLink, createAuthClient } from '@sallyport/trpc/client'
import { createTRPCUntypedClient, TRPCClientError } from '@trpc/client'
import { observable } from '@trpc/server/observable'
import { afterEach, expect, test, vi } from 'vitest'

const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
afterEach(() => {
  warn.mockClear()
  vi.unstubAllEnvs()
})

/** Makes two calls that the server rejects with this error data. */
async function rejectTwice(data: object): Promise<void> {
  const error = TRPCClientError.from({ error: { code: -32001, message: 'UNAUTHORIZED', data } })
  const reject = () => () => observable<never, typeof error>((observer) => observer.error(error))
  const client = createTRPCUntypedClient({ links: [authLink(createAuthClient({ isServer: false })), reject] })
  for (const path of ['first', 'second'])
    await expect(client.query(path)).rejects.toMatchObject({ message: 'UNAUTHORIZED' })
}

const UNFORMATTED = { code: 'UNAUTHORIZED', httpStatus: 401 }

test('a 401 without data.auth logs once what to add to which option', async () => {
  await rejectTwice(UNFORMATTED)
  expect(warn).toHaveBeenCalledOnce()
  const [message] = warn.mock.lastCall ?? []
  expect(message).toContain(
    'errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } })',
  )
  expect(message).toContain('initTRPC')
})

test.each([
  { name: 'a 401 of the app itself', data: { ...UNFORMATTED, auth: null } },
  { name: 'another error', data: { code: 'FORBIDDEN', httpStatus: 403 } },
])('$name logs nothing', async ({ data }) => {
  await rejectTwice(data)
  expect(warn).not.toHaveBeenCalled()
})

test('in production, nothing is logged', async () => {
  vi.stubEnv('NODE_ENV', 'production')
  await rejectTwice(UNFORMATTED)
  expect(warn).not.toHaveBeenCalled()
})
