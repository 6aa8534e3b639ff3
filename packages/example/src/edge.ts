import './edge-process.ts'
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { edgeApp, isBackendThere } from './edge-app.ts'
import { backend } from './edge-runner.ts'
import { env, isProduction, sameAddress } from './env.ts'

const url = `http://localhost:${env.EDGE_PORT}`
const server = createServer(getRequestListener(edgeApp.fetch))

server.listen(env.EDGE_PORT, env.HOST, announce)
process.once('SIGINT', stop)
process.once('SIGTERM', stop)

function stop(): void {
  server.close(() => void backend.close())
  server.closeAllConnections()
}

async function announce(): Promise<void> {
  console.log(`Sallyport example, actions without a database: ${url}`)
  if (!(await isBackendThere()))
    console.log(`
The backend does not answer on ${env.INTERNAL_SOCKET}. Start it in another terminal:

  ${sameAddress}npx -y pnpm start

Until then every call is answered 503.`)
  if (isProduction) return
  console.log(`
Sign in at the backend, as its terminal says, then

Generate  curl -b grace.txt -H 'x-sallyport: 1' -H 'content-type: application/json' \\
            -d '{"id":"${crypto.randomUUID()}","title":"Sales"}' ${url}/trpc/report.generate
Reports   curl -b grace.txt ${url}/trpc/report.list`)
}
