// `server.ts` in a process of its own: tells its parent where it listens, as whom to call, and when a slow call has begun.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { server } from './hono.ts'
import { publicProcedure } from './procedures.ts'
import { appRouter, slowCalls } from './router.ts'
import { testAuth } from './test-auth.ts'

// As if someone had forgotten the guard.
if (process.argv.includes('unguarded'))
  Object.assign(appRouter._def.procedures, { secrets: publicProcedure.query(() => 'for everyone') })

slowCalls.on('begun', () => process.send?.('begun'))
await import('./server.ts')
if (!server.listening) await once(server, 'listening')
const { port } = server.address() as AddressInfo
const { cookie } = await testAuth.signIn()
process.send?.({ host: `localhost:${port}`, cookie })
// Nothing but what `server.ts` has opened may keep the process alive.
process.channel?.unref()
