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

export const appRouter = router({
  health: publicProcedure.query(() => ({ ok: true })),
  /**
   * The users who can sign in without signing up first. In production, and on another host than this machine,
   * there are none.
   */
  demo: publicProcedure.query(() =>
    hasDemoUsers ? { users: DEMO_USERS.map(({ email }) => email), password: DEMO_PASSWORD } : null,
  ),
  greeting: optionalProcedure.query(({ ctx }) => `Hello, ${ctx.user?.name ?? 'stranger'}`),
  me,
  clock,
  live: liveRouter,
  notes: notesRouter,
  account: accountRouter,
  admin: adminRouter,
  sessions: sessionsRouter,
  organizations: organizationsRouter,
  report,
  gate: gateRouter,
})

export type AppRouter = typeof appRouter

// A procedure that someone forgets to guard stops the server from starting.
assertGuarded(appRouter, { public: ['health', 'demo', 'greeting', 'gate.look'] })
