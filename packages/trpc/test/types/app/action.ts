import { createAuthedAction, type FunctionsOf, functionsOf, type Runner } from '@sallyport/trpc/action'
import { initTRPC } from '@trpc/server'
import { getAuth } from './get-auth.ts'
import { t } from './procedures.ts'
import { holds, type Same } from './same.ts'
import type { Session, User } from './session.ts'

declare const runner: Runner
const internalT = initTRPC.create()
const internalRouter = internalT.router({
  report: { save: internalT.procedure.mutation(() => ({ at: new Date() })) },
  count: internalT.procedure.query(() => 3),
})
const internal: FunctionsOf<typeof internalRouter> = functionsOf<typeof internalRouter>()

const authedAction = createAuthedAction(t.procedure, getAuth, runner)

export const actions = t.router({
  generate: authedAction.mutation(async ({ ctx }) => {
    holds<Same<typeof ctx.session, Session>>()
    holds<Same<typeof ctx.user, User>>()
    holds<Same<typeof ctx.requestId, string>>()
    // @ts-expect-error an action has no database
    void ctx.db
    const { length } = await ctx.auth.api.addNote({ text: 'Report' })
    holds<Same<typeof length, number>>()
    const { count } = await ctx.auth.api.countNotes()
    holds<Same<typeof count, number>>()
    const { user } = await ctx.auth.api.getSession()
    holds<Same<typeof user.locale, 'en' | 'de'>>()
    holds<Same<typeof user.credits, number>>()
    await ctx.auth.api.updateUser({ name: 'Ada', locale: 'de' })
    // @ts-expect-error a language that nobody declared
    await ctx.auth.api.updateUser({ locale: 'fr' })
    // @ts-expect-error users do not set their own credits
    await ctx.auth.api.updateUser({ credits: 1 })
    // @ts-expect-error the input is required
    await ctx.auth.api.addNote()
    // @ts-expect-error the request is that of the call
    await ctx.auth.api.countNotes({ request: new Request('https://app.example.com') })
    // @ts-expect-error there is no such endpoint
    await ctx.auth.api.removeNote({ text: '' })

    const saved = await ctx.runMutation(internal.report.save, undefined, { idempotencyKey: 'r1' })
    holds<Same<typeof saved.at, string>>()
    const three = await ctx.runQuery(internal.count)
    holds<Same<typeof three, number>>()
    // @ts-expect-error a mutation is no query
    await ctx.runQuery(internal.report.save)
    return { length, count }
  }),
})

/** `getAuth` in a mutation that changes sessions and users. */
export const changes = t.router({
  revokeAll: t.procedure.mutation(async ({ ctx }) => {
    const { api } = getAuth(ctx)
    const { revoked } = await api.revokeOtherSessions()
    holds<Same<typeof revoked, number>>()
    const { headers } = await api.signOut()
    holds<Same<typeof headers, Headers>>()
    // @ts-expect-error it makes a session for anyone, and no request asks for that
    void api.createSession
    return revoked
  }),
})

// @ts-expect-error a context without a database and without functions leads nowhere
getAuth({ auth: null })
