import { AppRouteRouteModule } from 'next/dist/server/route-modules/app-route/module.js'
import { NextRequest } from 'next/server.js'

type RouteHandlers = {
  readonly [Method in 'GET' | 'POST' | 'OPTIONS']?: (request: Request) => Promise<Response>
}

type RouteRequest = Pick<Request, 'url' | 'method' | 'headers' | 'body' | 'signal'>

/** Creates a function that calls the exports of a `route.ts` through the module of Next.js that does. */
export function handleRoute(
  page: string,
  handlers: RouteHandlers,
): (request: RouteRequest) => Promise<Response> {
  const route = new AppRouteRouteModule({
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
  return ({ url, method, headers, body, signal }) =>
    route.handle(new NextRequest(url, { method, headers, body, signal, duplex: 'half' }), {
      params: {},
      renderOpts: { experimental: {} },
      sharedContext: { buildId: 'test', deploymentId: '' },
    } as never)
}
