import { authLink, type BearerStorage, bearer, createAuthClient } from '@sallyport/trpc/client'
import { createTRPCClient, httpBatchLink } from '@trpc/client'
import type { auth } from '../auth-server.ts' // only the type: no server code is bundled
import type { AppRouter } from '../routers/app.ts'

/**
 * A client for programs without cookies, such as a phone app. It stores the tokens and sends them in headers.
 */
export function createBearerClient(baseUrl: string, storage: BearerStorage) {
  const authClient = createAuthClient<typeof auth.api>({ baseUrl, transport: bearer(storage) })
  const trpcClient = createTRPCClient<AppRouter>({
    links: [
      authLink(authClient),
      httpBatchLink({ url: `${baseUrl}/trpc`, fetch: authClient.fetch, maxItems: 20 }),
    ],
  })
  return { authClient, trpcClient }
}
