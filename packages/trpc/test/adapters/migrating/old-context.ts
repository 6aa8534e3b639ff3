import { findSession } from './old-app.ts'

/** Like most hand-written contexts, it turns an outage into a missing user. */
export async function createContext({ req }: { req: { headers: Headers } }) {
  try {
    return { user: findSession(req.headers)?.user ?? null }
  } catch {
    return { user: null }
  }
}
