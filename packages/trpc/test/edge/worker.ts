// Runs in workerd: a Worker whose database is in memory.
import { createApp, type Settings } from './app.ts'

let app: ReturnType<typeof createApp>
let sessions: Settings['sessions']

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/open') {
      const settings: Omit<Settings, 'now'> = await request.json()
      sessions = settings.sessions
      app = createApp({ ...settings, now: Date.now })
    } else if (pathname === '/delete') sessions.splice(0)
    else return app.fetch(pathname.slice(1), { method: 'GET', headers: Object.fromEntries(request.headers) })
    return new Response()
  },
}
