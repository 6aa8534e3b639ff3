import { AuthError, isAuthError } from '@sallyport/core'
import type { TRPCError } from '@trpc/server'
import { cookies, headers } from 'next/headers.js'
import { NextResponse } from 'next/server.js'
import { toTRPCError } from '../server/errors.ts'
import type { ServerAuth } from '../ssr/server-auth.ts'
import type { HeaderCaller } from './create-get-page.ts'

/** Creates the function that returns the context of a Server Action, and sets cookies of a refresh. */
export function createActionContext<Context>({
  serverAuth,
  addressOf,
  headerContext,
}: HeaderCaller<Context>): () => Promise<Context> {
  const pages = new WeakMap<Headers, Promise<ServerAuth>>()

  async function openPage(sent: Headers): Promise<ServerAuth> {
    // A Server Action is always a POST. Its origin is checked as that of a mutation.
    const page = await serverAuth({ method: 'POST', headers: sent }, { remoteAddress: addressOf(sent) })
    const { state, reason } = page
    // A guard would report the old JWT instead.
    if (state.status === 'unknown' && reason !== null) throw toTRPCError(new AuthError(reason))
    await setCookies(page.setCookies)
    return page
  }

  return async () => {
    const sent = await headers()
    // The headers keep the old cookies: a later call of the action would refresh again.
    const opening = pages.get(sent) ?? openPage(sent)
    pages.set(sent, opening)
    return headerContext((await opening).headers, 'POST')
  }
}

async function setCookies(setCookies: readonly string[]): Promise<void> {
  const response = new NextResponse()
  for (const setCookie of setCookies) response.headers.append('set-cookie', setCookie)
  const store = await cookies()
  for (const cookie of new NextResponse(null, response).cookies.getAll()) store.set(cookie)
}

/** In production, Next.js sends only the digest of an error to the browser. */
export function reportReason({ error }: { error: TRPCError }): void {
  const { cause } = error
  if (isAuthError(cause)) Object.assign(error, { digest: cause.reason })
}
