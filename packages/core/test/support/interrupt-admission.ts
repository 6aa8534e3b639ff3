import { type Auth, type AuthDefinition, createAuth, type SessionDatabase } from '@sallyport/core/auth'

/** A server on the same database that lets something happen at the worst moment. */
export interface Interrupted {
  readonly handler: Auth['handler']
  /** Is called once: when the next caller has been let in, and has not yet done what they came for. */
  interrupt(work: () => Promise<unknown>): void
}

/** Serves the endpoints of a test server; see {@link Interrupted}. */
export async function interruptAdmission({
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
