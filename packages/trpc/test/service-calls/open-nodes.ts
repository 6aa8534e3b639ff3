import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import {
  type AuthConfig,
  type AuthDatabase,
  defineAuthConfig,
  staticJwks,
  withAuthStore,
} from '@sallyport/core'
import type { AuthTables } from '@sallyport/core/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import {
  createInternalHandler,
  defineInternalFunctions,
  type InternalFunctions,
} from '@sallyport/trpc/action'
import { initTRPC } from '@trpc/server'
import type { Kysely } from 'kysely'
import * as z from 'zod'
import { createHostileKey, type HostileKey } from '../../../core/test/hostile/hostile-key.ts'
import type { Random } from '../../../core/test/hostile/random.ts'
import { KEEP_ALIVE } from '../support/keep-alive.ts'
import { ORIGIN } from '../support/visitor.ts'

/** The services' keys, and other parties' keys. */
export interface ServiceKeys {
  readonly own: HostileKey
  readonly ownElliptic: HostileKey
  /** The service's previous key. */
  readonly retired: HostileKey
  readonly stranger: HostileKey
  /** The key that signs users' JWTs. */
  readonly users: HostileKey
}

/** A process of the app with its internal listener. */
export interface ServiceNode {
  readonly functions: InternalFunctions
  handle(request: Request): Promise<Response>
  /** The URL of the same handler. */
  readonly url: string
  close(): Promise<void>
}

/** Several nodes on one database. */
export interface ServiceNodes {
  readonly config: AuthConfig
  readonly keys: ServiceKeys
  readonly tables: Kysely<AuthTables>
  /** How often each call ran, by the id in its input. */
  readonly executed: ReadonlyMap<string, number>
  readonly nodes: [ServiceNode, ServiceNode]
  /** Closes a node, and opens another on the same file. */
  restart(index: 0 | 1): Promise<void>
  close(): Promise<void>
}

/** The nodes' maximum body size. */
export const MAX_BODY_BYTES = 4_096

const t = initTRPC.context<{ db: AuthDatabase; note: (id: string) => void }>().create()
const named = t.procedure.input(z.object({ id: z.string() }))
const router = t.router({
  note: t.router({
    list: named.query(({ ctx, input: { id } }) => ctx.note(id)),
    save: named.mutation(({ ctx, input: { id } }) => ctx.note(id)),
    remove: named.mutation(({ ctx, input: { id } }) => ctx.note(id)),
  }),
})

/** Opens two nodes on one file, whose functions only record that they ran. */
export async function openNodes(
  directory: string,
  { random, now }: { random: Random; now: () => Date },
): Promise<ServiceNodes> {
  const databaseUrl = `file:${join(directory, 'app.db')}`
  const [own, retired, stranger, users] = [1, 2, 3, 4].map(() => createHostileKey('Ed25519', random)) as [
    HostileKey,
    HostileKey,
    HostileKey,
    HostileKey,
  ]
  const ownElliptic = createHostileKey('ES256', random)
  const config = defineAuthConfig({ baseUrl: ORIGIN, jwks: staticJwks({ keys: [users.publicJwk] }), now })
  const serviceJwks = staticJwks({ keys: [own.publicJwk, ownElliptic.publicJwk] })
  const executed = new Map<string, number>()
  const note = (id: string) => void executed.set(id, (executed.get(id) ?? 0) + 1)
  const { db: tables, close } = await openSqlite(databaseUrl)

  async function openNode(): Promise<ServiceNode> {
    const opened = await openSqlite(databaseUrl)
    const sessions = {
      ...opened.sessions,
      findSession(key: { sessionId: string; userId: string }) {
        note(key.sessionId)
        return opened.sessions.findSession(key)
      },
    }
    const limits = {
      consume(name: string) {
        const key = name.replace(/^procedure:/, '')
        note(key)
        return Promise.resolve(null)
      },
    }
    const db = withAuthStore({}, { sessions, revocations: opened.revocations, limits, database: opened })
    const functions = defineInternalFunctions({
      router,
      createContext: () => ({ db, note }),
      config,
      getAuth: () => ({ api: { probe: async ({ id }: { id: string }) => note(id) ?? {} } }),
    })
    const handle = createInternalHandler(functions, { serviceJwks, maxBodyBytes: MAX_BODY_BYTES })
    const server = createServer(KEEP_ALIVE, getRequestListener(handle))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    return {
      functions,
      handle,
      url: `http://127.0.0.1:${port}/internal`,
      async close() {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
        await opened.close()
      },
    }
  }

  const nodes: [ServiceNode, ServiceNode] = [await openNode(), await openNode()]
  return {
    config,
    keys: { own, ownElliptic, retired, stranger, users },
    tables,
    executed,
    nodes,
    async restart(index) {
      await nodes[index].close()
      nodes[index] = await openNode()
    },
    async close() {
      await Promise.all(nodes.map((node) => node.close()))
      await close()
    },
  }
}
