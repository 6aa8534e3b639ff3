import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { createAuthClient } from '@sallyport/trpc/client'
import { createTRPCClient, httpLink, type TRPCClient } from '@trpc/client'
import { vi } from 'vitest'
import type { auth } from '../src/auth-server.ts'
import { type CookieJar, createCookieJar } from '../src/gate/cookie-jar.ts'
import type { AppRouter } from '../src/routers/app.ts'

export const BASE_URL = 'http://localhost:3000'

/** A connection, as the Node adapter of Hono describes it. */
const CONNECTION = {
  incoming: { socket: { remoteAddress: '127.0.0.1', remotePort: 1, remoteFamily: 'IPv4' } },
}

type Database = typeof import('../src/database.ts')['database']

/** A browser with a signed-in user. */
export interface SignedIn {
  readonly jar: CookieJar
  readonly userId: string
  readonly client: TRPCClient<AppRouter>
  readonly api: ReturnType<typeof createAuthClient<typeof auth.api>>['api']
}

/** The app in this process, with its own database and keys. */
export interface OpenApp {
  readonly db: Database['db']
  send(request: Request): Response | Promise<Response>
  /** Signs a demo user in, in a new browser. */
  signIn(name: 'ada' | 'grace'): Promise<SignedIn>
  close(): Promise<void>
}

/** Loads a new instance of the app. */
export async function openApp(env: Record<string, string> = {}): Promise<OpenApp> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-'))
  const variables = {
    NODE_ENV: 'development',
    // Vite sets a variable with this name.
    BASE_URL,
    DATABASE_URL: `file:${join(folder, 'example.db')}`,
    KEY_FILE: join(folder, 'keys.json'),
    SERVICE_KEY_FILE: join(folder, 'service-keys.json'),
    ENCRYPTION_KEY_FILE: join(folder, 'encryption-key'),
    ...env,
  }
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
  vi.resetModules()
  const [{ app }, { database }, { auth: server }, { keyFile }] = await Promise.all([
    import('../src/app.ts'),
    import('../src/database.ts'),
    import('../src/auth-server.ts'),
    import('../src/keys/key-file.ts'),
  ])
  const send = (request: Request) => app.fetch(request, CONNECTION)
  return {
    db: database.db,
    send,
    async signIn(name) {
      const jar = createCookieJar(send)
      const authClient = createAuthClient<typeof auth.api>({
        isServer: false,
        baseUrl: BASE_URL,
        fetch: jar.fetch,
      })
      const email = `${name}@example.com`
      const { userId } = await authClient.api.signInEmail({ email, password: 'correct horse battery staple' })
      const client = createTRPCClient<AppRouter>({
        links: [httpLink({ url: `${BASE_URL}/trpc`, fetch: authClient.fetch })],
      })
      return { jar, userId, client, api: authClient.api }
    },
    async close() {
      // Endpoints send emails after their response.
      await setImmediate()
      server.close()
      if (env.SIGNING_KEYS === undefined) (await keyFile(variables.KEY_FILE)).close()
      await database.close()
      rmSync(folder, { recursive: true })
      vi.unstubAllEnvs()
    },
  }
}
