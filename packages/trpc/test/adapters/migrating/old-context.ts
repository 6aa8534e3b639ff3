import { findSession } from './old-app.ts'

/** Like most hand-written contexts, it turns an outage into a missing user. */
export async function createContext({ req }: { req: { headers: Headers } }) {
  try {
    const session = findSession(req.headers)
    return { user: session && { name: session.name } }
  } catch {
    return { user: null }
  }
}
