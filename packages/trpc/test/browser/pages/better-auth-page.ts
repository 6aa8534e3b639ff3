import { authLink, betterAuthSession, subscriptionLink, webSocketLink } from '@sallyport/trpc/client'
import { createTRPCClient, httpBatchLink, splitLink } from '@trpc/client'
import { createAuthClient } from 'better-auth/client'
import type { BetterAuthRouter } from '../serve-better-auth.ts'

const client = createAuthClient({ baseURL: location.origin })
const session = betterAuthSession(client)
const url = `${location.origin}/trpc`
const trpc = createTRPCClient<BetterAuthRouter>({
  links: [
    authLink(session),
    splitLink({
      condition: ({ type }) => type === 'subscription',
      true: splitLink({
        condition: ({ input }) => input === 'ws',
        true: webSocketLink(session, { url: url.replace('http', 'ws') }),
        false: subscriptionLink(session, { url }),
      }),
      false: httpBatchLink({ url }),
    }),
  ],
})

const password = 'a long enough password'

/** What the streams of the page received since the latest call of `follow`. */
let received: string[] = []

export const signUp = (email: string): Promise<unknown> =>
  client.signUp.email({ email, password, name: email })
export const signIn = (email: string): Promise<unknown> => client.signIn.email({ email, password })
/** As the app's server does in a mutation: Better Auth's client doesn't learn of it. */
export const changePassword = (): Promise<unknown> =>
  client.$fetch('/change-password', {
    method: 'POST',
    body: { currentPassword: password, newPassword: password, revokeOtherSessions: true },
  })
export const signOut = (): Promise<unknown> => client.signOut()
export const me = (): Promise<string> =>
  trpc.me.query().catch((error) => error.data?.auth?.reason ?? String(error))

export function follow(transport: 'ws' | 'sse'): void {
  const own: string[] = []
  received = own
  trpc.names.subscribe(transport, {
    onData: (name) => void own.push(name),
    onError: ({ data }) => void own.push(data?.auth?.reason ?? 'error'),
    onComplete: () => void own.push('complete'),
  })
}
export const read = (): string[] => received
