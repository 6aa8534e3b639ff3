import { createAuthContext, type HttpContextOptions, type WsContextOptions } from '@sallyport/trpc'
import { authConfig } from './auth.config.ts'
import { db } from './database.ts'
import { createContext } from './old-context.ts'

const auth = createAuthContext(authConfig, { db })

export const httpContext = async (options: HttpContextOptions & { req: Request }) => {
  const { user: oldUser } = await createContext(options)
  return { oldUser, ...auth.http(options), db }
}
// A procedure that has not moved is closed to sockets: nobody would ask again for as long as one is open.
export const wsContext = (options: WsContextOptions) => ({ oldUser: null, ...auth.ws(options), db })
export type Context = Awaited<ReturnType<typeof httpContext>>
