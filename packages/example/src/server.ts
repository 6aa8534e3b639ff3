import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { authHandlerOptions, drain, webSocketOptions } from '@sallyport/trpc'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { app } from './app.ts'
import { authConfig } from './auth.config.ts'
import { auth } from './auth-server.ts'
import { wsContext } from './context.ts'
import { database } from './database.ts'
import { DEMO_PASSWORD } from './demo.ts'
import { serveDemoProvider } from './demo-provider/serve-demo-provider.ts'
import { env, hasDemoUsers, sameAddress } from './env.ts'
import { listenInternally } from './internal/listener.ts'
import { appRouter } from './routers/app.ts'
import { reportTakenPort } from './taken-port.ts'

const listener = getRequestListener(app.fetch)
const server = createServer(hasDemoUsers ? serveDemoProvider(listener) : listener)
const sockets = new WebSocketServer({ server, path: '/trpc', ...webSocketOptions(authConfig) })
applyWSSHandler({ wss: sockets, router: appRouter, createContext: wsContext, ...authHandlerOptions })
const internalServer = await listenInternally()

// The WebSocket server also emits the errors of its HTTP server.
sockets.once('error', reportTakenPort('PORT'))
server.listen(env.PORT, env.HOST, announce)
process.once('SIGINT', stop)
process.once('SIGTERM', stop)

async function stop(): Promise<void> {
  await drain({ auth, sockets, server: internalServer === null ? server : [server, internalServer] })
  await database.close()
}

function announce(): void {
  console.log(`Sallyport example: ${env.BASE_URL}`)
  if (!env.BASE_URL.endsWith(`:${env.PORT}`)) console.log(`This node: http://localhost:${env.PORT}`)
  if (!hasDemoUsers) return
  console.log(`
Users     ada@example.com (admin) and grace@example.com
Password  ${DEMO_PASSWORD}

Sign in   curl -c grace.txt -H 'x-sallyport: 1' -H 'content-type: application/json' \\
            -d '{"email":"grace@example.com","password":"${DEMO_PASSWORD}"}' ${env.BASE_URL}/api/auth/sign-in/email
Profile   curl -b grace.txt ${env.BASE_URL}/trpc/me
Report    curl -b grace.txt -H 'x-sallyport: 1' -H 'content-type: application/json' \\
            -d '{"id":"${crypto.randomUUID()}","title":"Sales"}' ${env.BASE_URL}/trpc/report.generate
Edge      ${sameAddress}npx -y pnpm start:edge   in another terminal: a process without a database
Sign out  curl -b grace.txt -c grace.txt -H 'x-sallyport: 1' -X POST ${env.BASE_URL}/api/auth/sign-out`)
}
