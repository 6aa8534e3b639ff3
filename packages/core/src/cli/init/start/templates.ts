import { NEXT_FILES } from '../next/templates.ts'

/** The files that `docs/tanstack-start.md` adds. */
export const START_FILES: Readonly<Record<string, string>> = {
  'src/auth.config.ts': `// src/auth.config.ts\n${NEXT_FILES['auth.config.ts']}`,
  'src/context.ts': `// src/context.ts
import { createAuth } from '@sallyport/core/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { createAuthContext, createHandler, type HttpContextOptions } from '@sallyport/trpc'
import { createServerAuth } from '@sallyport/trpc/ssr'
import { getRequestIP } from '@tanstack/react-start/server'
import { authConfig as config } from './auth.config.ts'
import authDefinition from './auth.ts'
import { trpcRouter as router } from './integrations/trpc/router.ts'

const open = () => openSqlite(process.env.DATABASE_URL ?? 'file:data/app.db')
// With a name, hot reloads share one database.
export const auth = createAuth(authDefinition, open, { name: 'app' })
export const serverAuth = createServerAuth({ config, token: auth.handler })
const context = createAuthContext(config, auth)
const createContext = (options: HttpContextOptions) => ({ ...context.http(options), db: auth.db })
export const pageContext = (headers: Headers, method = 'GET') => ({
  ...context.headers(headers, { method }),
  db: auth.db,
})
export type Context = ReturnType<typeof pageContext>
const handle = createHandler({ auth, config, router, createContext, endpoint: '/api/trpc' })
export const handler = ({ request }: { request: Request }) =>
  handle(request, { remoteAddress: getRequestIP() })
`,
  'src/routes/api.auth.$.ts': `// src/routes/api.auth.$.ts
import { createFileRoute } from '@tanstack/react-router'
import { handler } from '../context.ts'

export const Route = createFileRoute('/api/auth/$')({ server: { handlers: { ANY: handler } } })
`,
  'src/start.ts': `// src/start.ts
import { createCsrfMiddleware, createMiddleware, createStart } from '@tanstack/react-start'
import { appendResponseHeader, setResponseHeader } from '@tanstack/react-start/server'
import { unstable_localLink } from '@trpc/client'
import superjson from 'superjson'
import { pageContext, serverAuth } from './context.ts'
import { trpcRouter as router } from './integrations/trpc/router.ts'

const csrf = createCsrfMiddleware({ filter: ({ handlerType }) => handlerType === 'serverFn' })
const pages = createMiddleware().server(async ({ request, pathname, next }) => {
  if (pathname.startsWith('/api/')) return next()
  const page = await serverAuth(request)
  const createContext = async () => pageContext(page.headers)
  const link = unstable_localLink({ router, createContext, transformer: superjson })
  try {
    return await next({ context: { page, link } })
  } finally {
    // Also if a server route throws.
    for (const setCookie of page.setCookies) appendResponseHeader('set-cookie', setCookie)
    setResponseHeader('cache-control', 'private, no-store')
  }
})
export const startInstance = createStart(() => ({ requestMiddleware: [csrf, pages] }))
`,
}
