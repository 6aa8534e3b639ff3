import { isAuthError, type Reason } from '@sallyport/core'
import { headers } from 'next/headers.js'
import { connection } from 'next/server.js'
import { cache } from 'react'
import type { StoreContext } from '../server/context.ts'
import { getSession } from '../server/get-session.ts'
import type { createServerAuth } from '../ssr/create-server-auth.ts'
import type { ServerAuth } from '../ssr/server-auth.ts'

/** The parts of an app that call the router for the headers of a request. */
export interface HeaderCaller<Context> {
  readonly serverAuth: ReturnType<typeof createServerAuth>
  readonly addressOf: (headers: Headers) => string | undefined
  readonly headerContext: (headers: Headers, method: 'GET' | 'POST') => Promise<Context>
}

/** Creates the functions of server components. */
export function createGetPage<Context extends StoreContext>({
  serverAuth,
  addressOf,
  headerContext,
}: HeaderCaller<Context>): {
  getPage: () => Promise<ServerAuth>
  pageContext: () => Promise<Context>
} {
  const contexts = new WeakMap<Headers, Promise<Context>>()

  /** Calls with the same credentials share a context, so they share reads of the session. */
  function contextOf(sent: Headers): Promise<Context> {
    const context = contexts.get(sent) ?? headerContext(sent, 'GET')
    contexts.set(sent, context)
    return context
  }

  const openPage = cache(async () => {
    const sent = await headers()
    const page = await serverAuth(sent, { remoteAddress: addressOf(sent) })
    if (page.state.status !== 'authenticated') return page
    const checked = page.call(async (current) => getSession(await contextOf(current)))
    const reason = await checked.then(() => null, reasonOf)
    return reason === null || page.state.status !== 'authenticated' ? page : undecided(page, reason)
  })

  async function getPage(): Promise<ServerAuth> {
    // Next.js rejects reads of the time in a prerender, and `headers()` doesn't wait for a request in some.
    // Outside of React's cache, so Next.js rejects each call in `unstable_cache`, which all users share.
    await connection()
    return openPage()
  }
  return { getPage, pageContext: async () => contextOf((await getPage()).headers) }
}

function reasonOf(error: unknown): Reason {
  const { cause }: { cause?: unknown } = Object(error)
  if (!isAuthError(cause)) throw error
  return cause.reason
}

/** Returns the page without its user, whom Step 2 didn't accept. The browser asks the token endpoint. */
function undecided(page: ServerAuth, reason: Reason): ServerAuth {
  return Object.create(page, { state: { value: { status: 'unknown' } }, reason: { value: reason } })
}
