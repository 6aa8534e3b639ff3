import { isReady, MAX_PAYLOAD_BYTES, sessionsOf, withCors } from '@sallyport/core'
import { authHandlerOptions, authResponseMeta } from '@sallyport/trpc'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { authConfig } from './auth.config.ts'
import { auth } from './auth-server.ts'
import { httpContext } from './context.ts'
import { db } from './database.ts'
import { isProduction } from './env.ts'
import { exportSessions } from './export-sessions.ts'
import { runScenario } from './gate/run-scenario.ts'
import { addPages } from './pages.ts'
import { remoteAddress } from './remote-address.ts'
import { appRouter } from './routers/app.ts'
import { sampleReportService } from './sample-report-service.ts'

/** Serves everything over HTTP. */
export const app = new Hono()

app.get('/healthz', async (c) => {
  const ready = await isReady(authConfig, sessionsOf(db))
  return c.json({ ok: ready }, ready ? 200 : 503)
})

app.all('/api/auth/*', (c) => auth.handler(c.req.raw, { remoteAddress: remoteAddress(c) }))

app.get('/sessions.csv', exportSessions)

// tRPC reads a body into memory as a whole, so limit its size.
app.use('/trpc/*', bodyLimit({ maxSize: MAX_PAYLOAD_BYTES }))

app.all('/trpc/*', (c) =>
  withCors(c.req.raw, authConfig, () =>
    fetchRequestHandler({
      endpoint: '/trpc',
      req: c.req.raw,
      router: appRouter,
      createContext: (options) => httpContext({ ...options, remoteAddress: remoteAddress(c) }),
      responseMeta: authResponseMeta,
      ...authHandlerOptions,
    }),
  ),
)

if (!isProduction) {
  app.post('/report-service', bodyLimit({ maxSize: MAX_PAYLOAD_BYTES }), sampleReportService)
  app.post(
    '/gate/scenario/:name',
    runScenario((request, env) => app.fetch(request, env as object)),
  )
}

addPages(app)
