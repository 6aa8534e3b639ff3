// Runs `server.ts` in a process, and tells its parent the address, a cookie, and when a slow call begins.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { server } from './hono.ts'
import { publicProcedure } from './procedures.ts'
import { appRouter, slowCalls } from './router.ts'
import { testAuth } from './test-auth.ts'

const { procedures } = appRouter._def
// The router of the README has no public procedure.
Reflect.deleteProperty(procedures, 'health')
// A forgotten guard.
if (process.argv.includes('unguarded'))
  Object.assign(procedures, { secrets: publicProcedure.query(() => 'for everyone') })

slowCalls.on('begun', () => process.send?.('begun'))
await import('./server.ts')
if (!server.listening) await once(server, 'listening')
const { port } = server.address() as AddressInfo
const { cookie } = await testAuth.signIn()
process.send?.({ host: `localhost:${port}`, cookie })
// Only what `server.ts` opened may keep the process alive.
process.channel?.unref()
