import type { Auth, AuthDefinition } from '@sallyport/core/auth'
import { type AuthClient, createAuthClient } from '@sallyport/trpc/client'
import { AuthProvider, useAuth, useSensitive, useSession } from '@sallyport/trpc/react'
import { QueryClient } from '@tanstack/react-query'
import type authDefinition from './auth.ts'
import { holds, type Same } from './same.ts'

type ApiOf<Definition> = Definition extends AuthDefinition<infer Plugins> ? Auth<Plugins>['api'] : never

const routes = {
  addNote: { method: 'POST', path: '/notes/add' },
  countNotes: { method: 'GET', path: '/notes/count' },
} as const
const authClient = createAuthClient<ApiOf<typeof authDefinition>>({ routes })

/** The hooks of this app, which know its endpoints. */
const useAppAuth = useAuth<typeof authClient>
const useAppSession = useSession<typeof authClient>

/** Any client goes, and TanStack's query client. */
export function Root(plain: AuthClient<Auth<readonly []>['api']>): void {
  AuthProvider({ client: authClient, queryClient: new QueryClient() })
  AuthProvider({ client: plain })
  // @ts-expect-error a client is needed
  AuthProvider({})
  // @ts-expect-error it is no client
  AuthProvider({ client: authClient.api })
  // @ts-expect-error it is no query client
  AuthProvider({ client: authClient, queryClient: authClient })
}

/** Who is signed in, with the endpoints of the app. */
export async function Notes(): Promise<void> {
  const { client, status, isAuthenticated, signOut } = useAppAuth()
  const { length } = await client.api.addNote({ text: 'Hello' })
  holds<Same<typeof length, number>>()
  holds<Same<typeof isAuthenticated, boolean>>()
  await signOut()
  holds<Same<typeof status, 'loading' | 'authenticated' | 'unauthenticated' | 'signing-out' | 'unknown'>>()
}

/** The session with the columns of plugins, where it is there. */
export function Profile(): string {
  const { user, session, error } = useAppSession()
  if (user === null) {
    holds<Same<typeof user, null>>()
    return error?.code ?? ''
  }
  holds<Same<typeof user.locale, 'en' | 'de'>>()
  holds<Same<typeof session.impersonatedBy, string | null>>()
  return user.name
}

/** Without the type of the client only what every app has is known. */
export function Plain(): string {
  const { client } = useAuth()
  const { user } = useSession()
  // @ts-expect-error an endpoint of the app
  void client.api.addNote
  // @ts-expect-error a column of the app
  void user?.locale
  return user?.name ?? ''
}

/** What is run keeps its type. */
export async function Payment(): Promise<void> {
  const { run, confirm } = useSensitive()
  const { length } = await run(() => authClient.api.addNote({ text: 'Hello' }))
  holds<Same<typeof length, number>>()
  await confirm({ password: 'x' })
  // @ts-expect-error a call, not its promise
  await run(authClient.api.addNote({ text: 'Hello' }))
  // @ts-expect-error the password is missing
  await confirm({})
}
