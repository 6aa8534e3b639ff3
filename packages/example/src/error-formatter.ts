import { authErrorData, endpointErrorData } from '@sallyport/trpc'
import type { TRPCDefaultErrorShape, TRPCError } from '@trpc/server'
import * as z from 'zod'

/** How errors are told, alike in both processes. */
export const errorFormatter = ({
  shape,
  error,
  path,
}: {
  shape: TRPCDefaultErrorShape
  error: TRPCError
  path: string | undefined
}) => ({
  ...shape,
  message: messageOf(error) ?? shape.message,
  data: { ...shape.data, auth: authErrorData({ error, path }), endpoint: endpointErrorData({ error }) },
})

/** What is said instead of the text of an error that is not meant for users. */
function messageOf({ code, cause }: TRPCError): string | undefined {
  if (code === 'INTERNAL_SERVER_ERROR') return 'Something went wrong'
  // Its own message is JSON with all that is wrong.
  if (cause instanceof z.ZodError) return cause.issues[0]?.message
}
