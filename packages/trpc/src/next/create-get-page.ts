import { headers } from 'next/headers.js'
import { cache } from 'react'
import { createServerAuth, type ServerAuthOptions } from '../ssr/create-server-auth.ts'
import type { ServerAuth } from '../ssr/server-auth.ts'

/**
 * Creates a function for server components. It resolves the user once per request, and returns the page and
 * the members that `extend` adds, such as a query client. {@link createProxy} must run before: server
 * components can't set cookies.
 *
 * @example
 * export const getPage = createGetPage({ config: authConfig, token: auth.handler }, ({ headers }) => {
 *   const queryClient = createQueryClient()
 *   const ctx = () => headerContext(headers)
 *   return { queryClient, trpc: createTRPCOptionsProxy({ router: appRouter, ctx, queryClient }) }
 * })
 * const { page, queryClient, trpc } = await getPage()
 */
export function createGetPage<Members extends object>(
  options: ServerAuthOptions,
  extend: (page: ServerAuth) => Members | Promise<Members>,
): () => Promise<Members & { readonly page: ServerAuth }> {
  const serverAuth = createServerAuth(options)
  return cache(async () => {
    const page = await serverAuth(await headers())
    return { ...(await extend(page)), page }
  })
}
