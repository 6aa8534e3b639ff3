import { MAX_PAYLOAD_BYTES } from '@sallyport/core'
import { createHandler } from '@sallyport/trpc'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { authConfig } from './auth.config.ts'
import { auth } from './auth-server.ts'
import { httpContext } from './context.ts'
import { isProduction } from './env.ts'
import { exportSessions } from './export-sessions.ts'
import { runScenario } from './gate/run-scenario.ts'
import { addPages } from './pages.ts'
import { remoteAddress } from './remote-address.ts'
import { appRouter } from './routers/app.ts'
import { sampleReportService } from './sample-report-service.ts'

/** Serves everything over HTTP. */
export const app = new Hono()

const handle = createHandler({
  auth,
  config: authConfig,
  router: appRouter,
  createContext: httpContext,
  // `onFailure` reports the errors of guards and auth endpoints.
  onError({ error, path }) {
    if (error.code === 'INTERNAL_SERVER_ERROR') console.error(`${path}:`, error.cause ?? error)
  },
})
for (const path of ['/api/auth/*', '/trpc/*', '/healthz'])
  app.all(path, (c) => handle(c.req.raw, { remoteAddress: remoteAddress(c) }))

app.get('/sessions.csv', exportSessions)

if (!isProduction) {
  app.post('/report-service', bodyLimit({ maxSize: MAX_PAYLOAD_BYTES }), sampleReportService)
  app.post(
    '/gate/scenario/:name',
    runScenario((request, env) => app.fetch(request, env as object)),
  )
}

addPages(app)
