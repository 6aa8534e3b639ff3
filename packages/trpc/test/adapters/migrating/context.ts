import { createAuthContext, type HttpContextOptions, type WsContextOptions } from '@sallyport/trpc'
import { authConfig } from './auth.config.ts'
import { db } from './database.ts'
import { createContext } from './old-context.ts'

const auth = createAuthContext(authConfig, { db })

export const httpContext = async (options: HttpContextOptions & { req: Request }) => {
  const { user: oldUser } = await createContext(options)
  return { oldUser, ...auth.http(options), db }
}
// Old procedures are closed to WebSockets, where the old check would run only once per connection.
export const wsContext = (options: WsContextOptions) => ({ oldUser: null, ...auth.ws(options), db })
export type Context = Awaited<ReturnType<typeof httpContext>>
