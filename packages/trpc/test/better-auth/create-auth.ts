// A first call that loads them on a busy machine may take longer than a lookup may.
import '@sallyport/core/postgres'
import '@sallyport/core/sqlite'
import { hashSecret } from '@sallyport/core/internal/server'
import { authErrorData, type HttpContextOptions } from '@sallyport/trpc'
import type { BetterAuthGuard } from '@sallyport/trpc/better-auth'
import { initTRPC } from '@trpc/server'
import { type BetterAuthOptions, betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import SqliteDatabase from 'better-sqlite3'

export const ORIGIN = 'http://localhost:3000'
export const SECRET = 'a-secret-of-at-least-32-characters-for-tests'
export const PASSWORD = 'a long enough password'

/** Creates Better Auth on a new database. Its own hash takes a tenth of a second. */
export async function createAuth<const Options extends BetterAuthOptions>(
  more: Options,
  database: InstanceType<typeof SqliteDatabase> = new SqliteDatabase(':memory:'),
) {
  const url: Pick<BetterAuthOptions, 'baseURL'> = { baseURL: ORIGIN }
  const options = {
    ...url,
    secret: SECRET,
    database,
    emailAndPassword: { enabled: true, password: { hash: hashSecret, verify: isEqual } },
    ...more,
  }
  const auth = betterAuth(options)
  await (await getMigrations(options)).runMigrations()
  return { auth, database }
}

async function isEqual({ hash, password }: { hash: string; password: string }): Promise<boolean> {
  return hash === (await hashSecret(password))
}

/** Creates tRPC for the context of an app, with our errors. */
export function createTrpc<Database extends object>(guard: BetterAuthGuard, database: Database) {
  const createContext = (o: HttpContextOptions) => ({ ...guard.http(o), db: guard.attach(database) })
  const t = initTRPC.context<ReturnType<typeof createContext>>().create({
    errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
  })
  return { t, createContext }
}

/** Returns the cookies that a response sets, as a browser sends them. */
export function cookieOf(headers: Headers): string {
  const pairs = headers.getSetCookie().map((line) => line.split(';')[0])
  return pairs.filter((pair) => !pair?.endsWith('=')).join('; ')
}
