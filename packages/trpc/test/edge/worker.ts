// Runs in workerd: a Worker whose database is in memory.
import { createAuthClient } from '@sallyport/trpc/client'
import { createApp, type Settings } from './app.ts'

// As the modules of a page do: outside of a request, workerd allows neither timers nor an `AbortController`.
const client = createAuthClient({ baseUrl: 'https://app.example.com' })

type Api = { getSession(): Promise<object> }

let app: ReturnType<typeof createApp>
let sessions: Settings['sessions']

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/open') {
      const settings: Omit<Settings, 'now'> = await request.json()
      sessions = settings.sessions
      app = createApp({ ...settings, now: Date.now })
    } else if (pathname === '/client') return Response.json(await client.refresh())
    else if (pathname === '/page') {
      const { api } = createAuthClient<Api>({ baseUrl: 'https://app.example.com', headers: request.headers })
      return Response.json(await api.getSession())
    } else if (pathname === '/delete') sessions.splice(0)
    else return app.fetch(pathname.slice(1), { method: 'GET', headers: Object.fromEntries(request.headers) })
    return new Response()
  },
}
