import { createAuthContext, createHandler } from '@sallyport/trpc'
import { bindRunner } from '@sallyport/trpc/action'
import { Hono } from 'hono'
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

const handle = createHandler({
  config: authConfig,
  router: edgeRouter,
  createContext: (options) => ({ ...auth.http(options), runner }),
})
edgeApp.all('/trpc/*', (c) => handle(c.req.raw, { remoteAddress: remoteAddress(c) }))
