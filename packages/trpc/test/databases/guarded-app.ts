import { once } from 'node:events'
import type { AuthDatabase, Reason } from '@sallyport/core'
import { issueJwt } from '@sallyport/core/auth'
import { createAuthContext, type DatabaseContext, sessionMiddleware } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { onTestFinished } from 'vitest'
import { createIssuer } from '../../../core/test/support/create-issuer.ts'
import { PATIENT_SESSION } from '../../../core/test/support/postgres.ts'
import { outcomeOf, toRejection } from '../support/outcome.ts'
import { browser } from '../support/visitor.ts'

/** A session in the app's database. */
export interface AppSession {
  readonly id: string
  readonly userId: string
  readonly expiresAt: Date
}

/** An open subscription. */
export interface OpenStream {
  /** The reason with which it ended; null while it is open. */
  readonly reason: Reason | null
  /** Resolves when it has ended. */
  readonly ended: Promise<Reason>
}

/** A guarded router on a store. */
export interface GuardedApp {
  /**
   * Returns the reason of a rejection; null if a call with this session was accepted.
   *
   * @param work of the resolver
   */
  call(session: AppSession, work?: () => Promise<unknown>): Promise<Reason | null>
  /** Opens a guarded subscription, and waits for its first value. It is closed after the test. */
  subscribe(session: AppSession): Promise<OpenStream>
}

interface CallContext extends DatabaseContext {
  readonly work: () => Promise<unknown>
}

const t = initTRPC.context<CallContext>().create()
const protectedProcedure = t.procedure.use(sessionMiddleware)

const createCaller = t.createCallerFactory(
  t.router({
    me: protectedProcedure.query(async ({ ctx }) => {
      await ctx.work()
      return ctx.session.userId
    }),
    clock: protectedProcedure.subscription(async function* ({ ctx, signal }) {
      yield 'open'
      await once(AbortSignal.any([ctx.auth.signal, ...(signal === undefined ? [] : [signal])]), 'abort')
    }),
  }),
)

const issuer = await createIssuer({ session: PATIENT_SESSION })
const { config, key } = issuer

/** Creates a router whose calls and streams are guarded by this store. */
export function guardedApp(db: AuthDatabase): GuardedApp {
  async function callerOf(
    session: AppSession,
    { signal, work = async () => {} }: { signal?: AbortSignal; work?: CallContext['work'] },
  ) {
    const { token } = await issueJwt(session, { key, config })
    const { headers } = browser({ cookie: `${config.cookies.jwt}=${token}` })
    const context = { ...createAuthContext(config).headers(headers), db, work }
    return createCaller(context, signal === undefined ? {} : { signal })
  }

  return {
    async call(session, work) {
      const caller = await callerOf(session, work === undefined ? {} : { work })
      const { rejection, data } = await outcomeOf(caller.me())
      if (rejection !== null) return reasonOf(rejection)
      if (data !== session.userId) throw new Error('Another user was returned')
      return null
    },
    async subscribe(session) {
      const closing = new AbortController()
      onTestFinished(() => closing.abort())
      const caller = await callerOf(session, { signal: closing.signal })
      const values = (await caller.clock())[Symbol.asyncIterator]()
      await values.next()
      const stream: { reason: Reason | null; ended: Promise<Reason> } = {
        reason: null,
        ended: values.next().then(
          () => {
            throw new Error('The stream ended without an error')
          },
          (error) => {
            stream.reason = reasonOf(toRejection(error))
            return stream.reason
          },
        ),
      }
      stream.ended.catch(() => {})
      return stream
    },
  }
}

function reasonOf({ auth, message }: ReturnType<typeof toRejection>): Reason {
  if (auth === null) throw new Error(`No reason: ${message}`)
  return auth.reason
}
