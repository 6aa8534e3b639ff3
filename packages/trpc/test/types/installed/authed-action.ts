import { createAuthedAction } from '@sallyport/trpc/action'
import { getAuth } from './get-auth.ts'
import { t } from './procedures.ts'

export const authedAction = createAuthedAction(t.procedure, getAuth, ({ runner }) => runner)
