import './edge-process.ts'
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { drain } from '@sallyport/trpc'
import { edgeApp, isBackendReady } from './edge-app.ts'
import { backend } from './edge-runner.ts'
import { env, isProduction, sameAddress } from './env.ts'
import { reportTakenPort } from './taken-port.ts'

const url = `http://localhost:${env.EDGE_PORT}`
const server = createServer(getRequestListener(edgeApp.fetch))

server.once('error', reportTakenPort('EDGE_PORT'))
server.listen(env.EDGE_PORT, env.HOST, announce)
process.once('SIGINT', stop)
process.once('SIGTERM', stop)

function stop(): void {
  void drain({ auth: backend, server })
}

async function announce(): Promise<void> {
  console.log(`Sallyport example, actions without a database: ${url}`)
  if (!(await isBackendReady()))
    console.log(`
The backend doesn't respond on ${env.INTERNAL_SOCKET}. Start it in another terminal:

  ${sameAddress}npx -y pnpm start

Until then, every call gets a 503.`)
  if (isProduction) return
  console.log(`
Sign in at the backend first: its terminal has the command.

Generate  curl -b grace.txt -H 'x-sallyport: 1' -H 'content-type: application/json' \\
            -d '{"id":"${crypto.randomUUID()}","title":"Sales"}' ${url}/trpc/report.generate
Reports   curl -b grace.txt ${url}/trpc/report.list`)
}
