import { type ActingUser, defineInternalFunctions, functionsOf, localRunner } from '@sallyport/trpc/action'
import { initTRPC } from '@trpc/server'
import { authConfig } from './auth.config.ts'
import { database } from './database.ts'
import { getAuth } from './get-auth.ts'

const { db } = database
const t = initTRPC.context<{ db: typeof db } & ActingUser>().create()
const router = t.router({
  countNotes: t.procedure.query(({ ctx }) =>
    ctx.db
      .selectFrom('note')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('userId', '=', ctx.session?.userId ?? '')
      .executeTakeFirstOrThrow(),
  ),
})

export const internal = functionsOf<typeof router>()

const functions = defineInternalFunctions({
  router,
  createContext: () => ({ db }),
  config: authConfig,
  getAuth,
})
export const runner = localRunner(functions)
