import { readFileSync } from 'node:fs'
import { authLink, createAuthClient } from '@sallyport/trpc/client'
import { createTRPCClient, TRPCClientError } from '@trpc/client'
import client from '@trpc/client/package.json' with { type: 'json' }
import { getTRPCErrorFromUnknown } from '@trpc/server'
import server from '@trpc/server/package.json' with { type: 'json' }
import adapter from '@trpc/tanstack-react-query/package.json' with { type: 'json' }
import { expect, test } from 'vitest'
import type { AppRouter } from '../support/router.ts'

const installed = new URL('../../node_modules/@trpc/client/package.json', import.meta.url)
const { TRPC_VERSION: version = JSON.parse(readFileSync(installed, 'utf8')).version } = process.env

test("each package of tRPC has its project's version", () => {
  expect([client.version, server.version]).toEqual([version, version])
  // The newest version.
  expect(adapter.version).toBe('11.22.1')
})

test('so does the code that runs', () => {
  expect(TRPCClientError.from(new Error('any')).stack).toContain(`@trpc+client@${version}`)
  expect(getTRPCErrorFromUnknown('any').stack).toContain(`@trpc+server@${version}`)
})

test('our own code uses the same copy', async () => {
  const authClient = createAuthClient({
    isServer: false,
    baseUrl: 'http://localhost',
    fetch: async () => Response.json({}),
  })
  const links = [
    authLink<AppRouter>(authClient),
    () => () => {
      throw new Error('not sent')
    },
  ]
  const failure = await createTRPCClient<AppRouter>({ links })
    .me.query()
    .catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(TRPCClientError)
  expect((failure as Error).message).toBe('not sent')
})
