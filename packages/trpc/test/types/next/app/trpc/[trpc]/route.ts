import { authHandlerOptions, authResponseMeta } from '@sallyport/trpc'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { httpContext } from '../../../context.ts'
import { appRouter } from '../../../router.ts'

const handle = (req: Request) =>
  fetchRequestHandler({
    req,
    endpoint: '/trpc',
    router: appRouter,
    createContext: httpContext,
    responseMeta: authResponseMeta,
    ...authHandlerOptions,
  })

export { handle as GET, handle as POST }
