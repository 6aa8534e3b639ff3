import { assertGuarded } from '@sallyport/trpc'
import { DEMO_PASSWORD, DEMO_USERS } from '../demo.ts'
import { hasDemoUsers } from '../env.ts'
import { optionalProcedure, publicProcedure, router } from '../procedures.ts'
import { accountRouter, me } from './account.ts'
import { adminRouter } from './admin.ts'
import { clock } from './clock.ts'
import { gateRouter } from './gate.ts'
import { liveRouter } from './live.ts'
import { notesRouter } from './notes.ts'
import { organizationsRouter } from './organizations.ts'
import { report } from './report.ts'
import { sessionsRouter } from './sessions.ts'
import { waysToSignIn } from './ways-to-sign-in.ts'

export const appRouter = router({
  health: publicProcedure.query(() => ({ ok: true })),
  /** The demo users for the sign-in page. Null in production, and if `BASE_URL` isn't this machine. */
  demo: publicProcedure.query(() =>
    hasDemoUsers
      ? { users: DEMO_USERS.map(({ name, email }) => ({ name, email })), password: DEMO_PASSWORD }
      : null,
  ),
  greeting: optionalProcedure.query(({ ctx }) => `Hello, ${ctx.user?.name ?? 'guest'}`),
  me,
  clock,
  live: liveRouter,
  notes: notesRouter,
  account: accountRouter,
  admin: adminRouter,
  sessions: sessionsRouter,
  waysToSignIn,
  organizations: organizationsRouter,
  report,
  gate: gateRouter,
})

export type AppRouter = typeof appRouter

// The server doesn't start if a procedure has no session middleware and isn't listed here.
assertGuarded(appRouter, { public: ['health', 'demo', 'greeting', 'gate.inspect'] })
