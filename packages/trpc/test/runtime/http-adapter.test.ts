import { createAuthContext } from '@sallyport/trpc'
import { bindRunner, type Runner, type RunnerCall } from '@sallyport/trpc/action'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openRuntime, type RuntimeApp } from '../support/open-runtime.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const directory = temporaryDirectory()

let app: RuntimeApp
beforeAll(async () => {
  app = await openRuntime(directory)
})
afterAll(() => app.close())

/** What endpoints look at. */
const LOOKED_AT = {
  authorization: 'Bearer a.b.c',
  cookie: 'service.jwt=a.b.c',
  origin: 'http://localhost:3000',
  purpose: 'prefetch',
  'sec-fetch-dest': 'empty',
  'sec-fetch-mode': 'cors',
  'sec-fetch-site': 'same-origin',
  'sec-purpose': 'prefetch',
  'user-agent': 'Probe/1.0',
  'x-moz': 'prefetch',
  'x-sallyport': '1',
  'x-sallyport-session': 'none',
}

const HEADERS = {
  ...LOOKED_AT,
  'x-forwarded-for': '198.51.100.9',
  'x-tenant': 'acme',
  'content-type': 'text/plain',
}

/** The endpoints, and what their calls send where another place has the database. */
function apiTo(answer: unknown) {
  const calls: RunnerCall[] = []
  const runner: Runner = {
    async run(call) {
      calls.push(call)
      return answer
    },
  }
  const options = { method: 'POST', remoteAddress: '192.0.2.1' }
  const { auth } = createAuthContext(app.auth.config).headers(HEADERS, options)
  return { calls, ...app.getAuth({ auth, ...bindRunner(runner) }) }
}

describe('a call', () => {
  test('carries what endpoints look at in its body, with the address as it was decided here', async () => {
    const { api, calls } = apiTo({ body: { caller: null, text: '' } })
    await api.writeAsUser({ text: 'hi' })
    expect(calls).toEqual([
      {
        type: 'mutation',
        path: 'sallyport.mutateEndpoint',
        input: {
          name: 'writeAsUser',
          input: { text: 'hi' },
          request: {
            method: 'POST',
            headers: LOOKED_AT,
            remoteAddress: '198.51.100.9',
          },
        },
        actor: null,
        signal: undefined,
        idempotencyKey: undefined,
      },
    ])
  })

  test.each([
    { endpoint: 'GET', run: (api: ReturnType<typeof apiTo>['api']) => api.readAsUser(), type: 'query' },
    { endpoint: 'POST', run: (api: ReturnType<typeof apiTo>['api']) => api.setCookie(), type: 'mutation' },
    {
      endpoint: 'GET that extends the session',
      run: (api: ReturnType<typeof apiTo>['api']) => api.token(),
      type: 'mutation',
    },
  ])('of a $endpoint is a $type, which decides whether it may be sent again', async ({ run, type }) => {
    const { api, calls } = apiTo({ body: {} })
    await run(api)
    expect(calls.map((call) => call.type)).toEqual([type])
  })

  test.each([[null], [undefined], ['done'], [{}], [{ body: 'done' }], [{ body: null }]])(
    'answered with %j decides nothing: 503',
    async (answer) => {
      await expect(apiTo(answer).api.readAsUser()).rejects.toMatchObject({ reason: 'SESSIONS_UNAVAILABLE' })
    },
  )
})
