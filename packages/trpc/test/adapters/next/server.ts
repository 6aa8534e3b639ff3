import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { NextRequest } from 'next/server.js'
import * as auth from './app/api/auth/[...path]/route.ts'
import * as trpc from './app/trpc/[trpc]/route.ts'

type Route = Readonly<Record<string, (request: NextRequest) => Promise<Response>>>

/** Calls the exported route handler for the method, as Next.js does, with the platform's address header. */
export const server = createServer(
  getRequestListener(async (request, { incoming }) => {
    const { pathname } = new URL(request.url)
    const route: Route = pathname.startsWith('/api/auth/') ? auth : trpc
    const forwarded = new NextRequest(request)
    const { remoteAddress } = incoming.socket
    if (remoteAddress !== undefined) forwarded.headers.set('x-real-ip', remoteAddress)
    return route[request.method]?.(forwarded) ?? new Response(null, { status: 405 })
  }),
)
