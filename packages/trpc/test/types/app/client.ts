import type { Auth, AuthDefinition } from '@sallyport/core/auth'
import type { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { type AuthClient, createAuthClient } from '@sallyport/trpc/client'
import type authDefinition from './auth.ts'
import { holds, type Same } from './same.ts'

type ApiOf<Definition> = Definition extends AuthDefinition<infer Plugins> ? Auth<Plugins>['api'] : never
type AppApi = ApiOf<typeof authDefinition>

const routes = {
  addNote: { method: 'POST', path: '/notes/add' },
  countNotes: { method: 'GET', path: '/notes/count' },
} as const

/** The same plugins seen from `auth.api`, with the request beside the input. */
export async function onTheServer(api: AppApi, request: Request): Promise<void> {
  const { length } = await api.addNote({ text: 'Hello', request })
  holds<Same<typeof length, number>>()
  const { organization } = await api.createOrganization({ name: 'Acme', slug: 'acme', request })
  holds<Same<typeof organization.name, string>>()
  const { user, session } = await api.getSession({ request })
  holds<Same<typeof user.credits, number>>()
  holds<Same<typeof session.impersonatedBy, string | null>>()
  const { headers } = await api.signInEmail({ email: 'ada@example.com', password: 'x', request })
  holds<Same<typeof headers, Headers>>()
  // @ts-expect-error on whose behalf?
  await api.addNote({ text: 'Hello' })
  // @ts-expect-error the text is missing
  await api.addNote({ request })
}

/** And from a browser, without the request and without the headers. */
export async function inTheBrowser(): Promise<void> {
  const { api: client }: AuthClient<AppApi> = createAuthClient<AppApi>({ routes })
  const { length } = await client.addNote({ text: 'Hello', pinned: true })
  holds<Same<typeof length, number>>()
  const { count } = await client.countNotes()
  holds<Same<typeof count, number>>()
  const { user } = await client.getSession()
  holds<Same<typeof user.locale, 'en' | 'de'>>()
  const signedIn = await client.signInEmail({ email: 'ada@example.com', password: 'x' })
  holds<Same<typeof signedIn.expiresIn, number>>()
  await client.banUser({ userId: 'u1' })
  holds<Same<keyof AuthClient<AppApi>['api'], keyof typeof ENDPOINTS | keyof typeof routes>>()
  // @ts-expect-error the headers are the server's
  void signedIn.headers
  // @ts-expect-error the text is missing
  await client.addNote({})
  // @ts-expect-error it is no endpoint
  void client.createSession
}

// @ts-expect-error the routes of the plugin's endpoints are missing
createAuthClient<AppApi>()
