import { type AuthConfig, type AuthDatabase, sessionsOf } from '@sallyport/core'
import { defineAuth } from '@sallyport/core/auth'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { bindSession } from '@sallyport/trpc'
import { createAuthRuntime } from '@sallyport/trpc/action'
import * as z from 'zod'
import { notes } from './notes.ts'
import { holds, type Same } from './same.ts'

declare const config: AuthConfig
declare const db: AuthDatabase

const plain = defineAuth({ config, signingKeys: undefined })
const some = defineAuth({ config, signingKeys: undefined, plugins: [emailPassword(), notes] })

/** What a definition does not have, nothing that is made of it has. */
export async function compare(): Promise<void> {
  const { getSession } = bindSession<typeof plain>()
  const ofPlain = createAuthRuntime(() => plain).getAuth
  const ofSome = createAuthRuntime(() => some).getAuth
  type PlainApi = ReturnType<typeof ofPlain>['api']
  type SomeApi = ReturnType<typeof ofSome>['api']
  type Added = Exclude<keyof SomeApi, keyof PlainApi>
  type Expected =
    | 'addNote'
    | 'countNotes'
    | 'signUpEmail'
    | 'signInEmail'
    | 'reauthenticate'
    | 'changePassword'
    | 'requestPasswordReset'
    | 'resetPassword'
    | 'sendVerificationEmail'
    | 'verifyEmail'
    | 'changeEmail'
    | 'undoEmailChange'
  holds<Same<Added, Expected>>()
  type Own = 'id' | 'name' | 'email' | 'role'
  holds<Same<keyof Awaited<ReturnType<typeof getSession>>['user'], Own>>()
  const session = await sessionsOf(db).findSession({ sessionId: 's', userId: 'u' })
  holds<Same<NonNullable<typeof session>['expiresAt'], Date>>()
}

defineAuth({
  config,
  signingKeys: undefined,
  // @ts-expect-error a column has to say what it holds
  user: { additionalFields: { nickname: { input: true } } },
})
defineAuth({
  config,
  signingKeys: undefined,
  // @ts-expect-error there is no such type of column
  session: { additionalFields: { tenant: { type: 'json', schema: z.string() } } },
})
// @ts-expect-error a definition needs a configuration
defineAuth({ signingKeys: undefined })
