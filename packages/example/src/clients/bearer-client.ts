import { authLink, type BearerStorage, bearer, createAuthClient } from '@sallyport/trpc/client'
import { createTRPCClient, httpBatchLink } from '@trpc/client'
import type { auth } from '../auth-server.ts' // the type alone; nothing of the server is bundled
import type { AppRouter } from '../routers/app.ts'

/** For programs without cookies, such as an app on a phone: a storage keeps the tokens, and headers carry them. */
export function createBearerClient(baseUrl: string, storage: BearerStorage) {
  const authClient = createAuthClient<typeof auth.api>({ baseUrl, transport: bearer(storage) })
  const trpcClient = createTRPCClient<AppRouter>({
    links: [authLink(authClient), httpBatchLink({ url: `${baseUrl}/trpc`, fetch: authClient.fetch })],
  })
  return { authClient, trpcClient }
}
