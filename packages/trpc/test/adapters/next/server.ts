import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { handleRoute } from '../../next/handle-route.ts'
import { handlers } from './next-auth.ts'

const auth = handleRoute('/api/auth/[...path]', handlers)
const trpc = handleRoute('/trpc/[trpc]', handlers)

/** Calls the route handlers behind a proxy that sets `X-Real-IP`. */
export const server = createServer(
  getRequestListener(async (request, { incoming }) => {
    const { url, method, body, signal } = request
    const { remoteAddress } = incoming.socket
    const headers = new Headers(request.headers)
    if (remoteAddress !== undefined) headers.set('x-real-ip', remoteAddress)
    const handle = new URL(url).pathname.startsWith('/api/auth/') ? auth : trpc
    return handle({ url, method, headers, body, signal })
  }),
)
