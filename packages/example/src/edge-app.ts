import { MAX_PAYLOAD_BYTES, withCors } from '@sallyport/core'
import { authHandlerOptions, authResponseMeta, createAuthContext } from '@sallyport/trpc'
import { bindRunner } from '@sallyport/trpc/action'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { authConfig } from './auth.config.ts'
import { actionRouter } from './authed-action.ts'
import { runner } from './edge-runner.ts'
import { internal } from './internal/references.ts'
import { remoteAddress } from './remote-address.ts'
import { report } from './routers/report.ts'

const auth = createAuthContext(authConfig)
const { runQuery } = bindRunner(runner)
const edgeRouter = actionRouter({ report })

/** Returns whether the backend responds. */
export const isBackendReady = () =>
  runQuery(internal.health).then(
    ({ ok }) => ok,
    () => false,
  )

/** Serves the actions, with the cookies of the backend. */
export const edgeApp = new Hono()

edgeApp.get('/healthz', async (c) => {
  const ready = await isBackendReady()
  return c.json({ ok: ready }, ready ? 200 : 503)
})

edgeApp.use('/trpc/*', bodyLimit({ maxSize: MAX_PAYLOAD_BYTES }))

edgeApp.all('/trpc/*', (c) =>
  withCors(c.req.raw, authConfig, () =>
    fetchRequestHandler({
      endpoint: '/trpc',
      req: c.req.raw,
      router: edgeRouter,
      createContext: (options) => ({
        ...auth.http({ ...options, remoteAddress: remoteAddress(c) }),
        runner,
      }),
      responseMeta: authResponseMeta,
      ...authHandlerOptions,
    }),
  ),
)
