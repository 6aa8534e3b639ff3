import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { AppRouteRouteModule } from 'next/dist/server/route-modules/app-route/module.js'
import { NextRequest } from 'next/server.js'
import { handlers } from './next-auth.ts'

const routes = { auth: routeModule('/api/auth/[...path]'), trpc: routeModule('/trpc/[trpc]') }

/** Calls the route handlers through the module of Next.js that does, behind a proxy that sets `X-Real-IP`. */
export const server = createServer(
  getRequestListener(async (request, { incoming }) => {
    const route = new URL(request.url).pathname.startsWith('/api/auth/') ? routes.auth : routes.trpc
    const { url, method, headers, body, signal } = request
    const forwarded = new NextRequest(url, { method, headers, body, signal, duplex: 'half' })
    const { remoteAddress } = incoming.socket
    if (remoteAddress !== undefined) forwarded.headers.set('x-real-ip', remoteAddress)
    return route.handle(forwarded, {
      params: {},
      renderOpts: { experimental: {} },
      sharedContext: { buildId: 'test', deploymentId: '' },
    } as never)
  }),
)

function routeModule(page: string): AppRouteRouteModule {
  return new AppRouteRouteModule({
    userland: async () => handlers,
    definition: {
      kind: 'APP_ROUTE',
      page,
      pathname: page,
      filename: 'route',
      bundlePath: `app${page}/route`,
    },
    distDir: '.next',
    relativeProjectDir: '',
    resolvedPagePath: 'route.ts',
    nextConfigOutput: undefined,
  } as never)
}
