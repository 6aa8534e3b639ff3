import { type Auth, type AuthDefinition, createAuth, type SessionDatabase } from '@sallyport/core/auth'

/** A server on the same database that runs a callback at the worst moment. */
export interface Interrupted {
  readonly handler: Auth['handler']
  /**
   * Sets the callback. It runs once: after the next caller is authenticated, and before their endpoint runs.
   */
  interrupt(work: () => Promise<unknown>): void
}

/** Serves the endpoints of a test server, see {@link Interrupted}. */
export async function serveInterrupted({
  definition,
  database,
}: {
  definition: AuthDefinition
  database: SessionDatabase
}): Promise<Interrupted> {
  let interruption: (() => Promise<unknown>) | null = null
  const { sessions } = database
  const auth = await createAuth(
    definition,
    {
      ...database,
      sessions: {
        ...sessions,
        async findSession(key) {
          const session = await sessions.findSession(key)
          const work = interruption
          interruption = null
          await work?.()
          return session
        },
      },
    },
    { pruneEverySeconds: 0 },
  )
  return {
    handler: auth.handler,
    interrupt(work) {
      interruption = work
    },
  }
}
