import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type AuthConfig, type AuthDatabase, defineAuthConfig, withAuthStore } from '@sallyport/core'
import {
  type Auth,
  createAuth,
  createSession,
  defineAuth,
  issueJwt,
  parseSigningKeys,
  type SigningKeys,
} from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import type { TestClock } from '@sallyport/core/testing'
import { authHandlerOptions, createAuthContext, webSocketOptions } from '@sallyport/trpc'
import { createServerAuth } from '@sallyport/trpc/ssr'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { createLiveKeys } from '../../../core/src/keys/live-keys.ts'
import { createTestClock } from '../../../core/src/testing/instruments.ts'
import { createUserMaker, type MadeUser } from '../../../core/test/support/user-maker.ts'
import { ORIGIN } from '../support/visitor.ts'
import type { Engine } from './engines.ts'
import { router } from './router.ts'

/** A node of the system: an auth server and a tRPC server. */
export interface Node {
  readonly config: AuthConfig
  readonly auth: Auth
  readonly db: AuthDatabase
  readonly contexts: ReturnType<typeof createAuthContext>
  readonly render: ReturnType<typeof createServerAuth>
  /** Host and port of its sockets. */
  readonly host: string
  /** Whether it can't read sessions. */
  isUnreadable: boolean
  close(): Promise<void>
}

/** The signing keys of all nodes. */
export interface Keys {
  /** Makes a new key sign. Earlier keys still verify. */
  rotate(): Promise<string>
  /** Removes a key from the set. */
  remove(kid: string, options: { leaked: boolean }): Promise<void>
  /** Forgets all keys but the active one, and returns its id. */
  reset(): Promise<string>
}

/** Two nodes on one database. Only the second one rotates session secrets. */
export interface System {
  readonly engine: Engine
  readonly nodes: readonly [Node, Node]
  readonly clock: TestClock
  readonly keys: Keys
  createUser(): Promise<MadeUser>
  /** Returns the cookies of an admin. */
  adminCookie(): Promise<string>
  close(): Promise<void>
}

type SharedKeys = Awaited<ReturnType<typeof createKeys>>

export async function openSystem(engine: Engine): Promise<System> {
  const clock = createTestClock(new Date(Date.UTC(2030, 0)))
  const keys = await createKeys()
  const open = (rotates: boolean) => openNode(engine, { clock, keys, rotates })
  const nodes = [await open(false), await open(true)] as const
  const [{ auth, config }] = nodes
  const createUser = await createUserMaker({ database: auth.database, clock })
  const { userId } = await createUser('admin')
  const expiresAt = new Date(Date.UTC(9999, 0))
  const session = { ...(await createSession(auth.database, { userId, config })), expiresAt }
  await engine.run(`update session set "expiresAt" = '${expiresAt.toISOString()}' where id = '${session.id}'`)
  return {
    engine,
    nodes,
    clock,
    keys,
    createUser,
    async adminCookie() {
      const { token } = await issueJwt(session, { key: keys.signing.active, config, now: clock.now() })
      return `${config.cookies.jwt}=${token}`
    },
    async close() {
      for (const node of nodes) await node.close()
    },
  }
}

async function createKeys(): Promise<
  Keys & { live: ReturnType<typeof createLiveKeys>; signing: SigningKeys }
> {
  const live = createLiveKeys()
  const revoked: string[] = []
  let rings: SigningKeys[] = []
  let current = parseSigningKeys({ keys: [await createSigningKey()] })

  async function publish(): Promise<string> {
    await live.replace(
      [current, ...rings].flatMap(({ publicJwks }) => publicJwks.keys),
      revoked,
    )
    return current.active.kid
  }
  await publish()
  return {
    live,
    signing: {
      get active() {
        return current.active
      },
      get publicJwks() {
        return current.publicJwks
      },
    },
    async rotate() {
      rings = [current, ...rings]
      current = parseSigningKeys({ keys: [await createSigningKey()] })
      return publish()
    },
    async remove(kid, { leaked }) {
      rings = rings.filter(({ active }) => active.kid !== kid)
      if (leaked) revoked.push(kid)
      await publish()
    },
    reset() {
      rings = []
      revoked.length = 0
      return publish()
    },
  }
}

interface NodeOptions {
  readonly clock: TestClock
  readonly keys: SharedKeys
  readonly rotates: boolean
}

async function openNode(engine: Engine, { clock, keys, rotates }: NodeOptions): Promise<Node> {
  const config = defineAuthConfig({
    baseUrl: ORIGIN,
    jwks: keys.live,
    now: clock.now,
    trustedProxies: ['127.0.0.1'],
    session: { rotateSessionToken: rotates, lookupTimeoutMs: 60_000 },
  })
  const account = { points: 1_000, duration: 60 }
  const plugins = [emailPassword({ limits: { account } }), admin({ freshForSeconds: false })] as const
  const definition = defineAuth({ config, signingKeys: keys.signing, plugins })
  const opened = await engine.open()
  const { revocations, limits } = opened
  const unlessUnreadable =
    <Key, Found>(find: (key: Key) => Found) =>
    (key: Key) => {
      if (node.isUnreadable) throw new Error('Sessions are unreadable')
      return find(key)
    }
  const sessions = {
    findSession: unlessUnreadable(opened.sessions.findSession),
    findToken: unlessUnreadable(opened.sessions.findToken),
  }
  const database = { ...opened, sessions }
  const db = withAuthStore({}, { sessions, revocations, limits, database })
  const auth = await createAuth(definition, database, { onError() {}, pruneEverySeconds: 0 })
  const contexts = createAuthContext(config, { db })
  const server = createServer()
  const wss = new WebSocketServer({ server, ...webSocketOptions(config, { maxHandshakesPerAddress: 1e6 }) })
  applyWSSHandler({
    wss,
    router,
    createContext: (o) => ({ ...contexts.ws(o), db }),
    ...authHandlerOptions,
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const node: Node = {
    config,
    auth,
    db,
    contexts,
    render: createServerAuth({ config, token: auth.handler, onError() {} }),
    host: `127.0.0.1:${port}`,
    isUnreadable: false,
    async close() {
      for (const socket of wss.clients) socket.terminate()
      wss.close()
      await new Promise((resolve) => server.close(resolve))
      await auth.close()
      await opened.close()
    },
  }
  return node
}
