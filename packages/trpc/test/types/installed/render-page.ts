import { createServerAuth, inlineJson } from '@sallyport/trpc/ssr'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { authConfig } from './auth.config.ts'
import { auth } from './auth-server.ts'
import { pageContext } from './context.ts'
import { createQueryClient, Page } from './notes-page.tsx'
import { appRouter } from './router.ts'

const serverAuth = createServerAuth({ config: authConfig, token: auth.handler })

/** Renders a page with the signed-in user's notes. */
export async function renderPage(request: Request): Promise<string> {
  const page = await serverAuth(request)
  const queryClient = createQueryClient()
  const ctx = () => pageContext(page.headers)
  const trpc = createTRPCOptionsProxy({ router: appRouter, ctx, queryClient })
  await page.prefetch(queryClient, [trpc.notes.queryOptions()])
  const { state } = page
  return `${renderToString(createElement(Page, { state, queryClient }))}${inlineJson(state)}`
}
