import { authErrorData, endpointErrorData } from '@sallyport/trpc'
import type { TRPCDefaultErrorShape, TRPCError } from '@trpc/server'
import * as z from 'zod'

/** Formats errors in both processes. */
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

/** Returns the message for users, if the error's own isn't meant for them. */
function messageOf({ code, cause }: TRPCError): string | undefined {
  if (code === 'INTERNAL_SERVER_ERROR') return 'Something went wrong. Try again.'
  // Zod's own message is JSON.
  if (cause instanceof z.ZodError) return cause.issues[0]?.message
}
