import type { OperationLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { observable } from '@trpc/server/observable'
import { clientError } from '../client/auth-client-error.ts'
import { toCallError } from './call-error.ts'

/** Rejects a call that needs credentials, a socket, or an event stream, which a page on a server lacks. */
export const rejectOnServer: OperationLink<AnyTRPCRouter> = () =>
  observable(({ error }) => error(toCallError(clientError('TOKEN_MISSING'))))
