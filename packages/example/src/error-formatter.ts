import { authErrorData, endpointErrorData } from '@sallyport/trpc'
import type { TRPCDefaultErrorShape, TRPCError } from '@trpc/server'

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
  // tRPC would send the text of an unexpected error to the client.
  message: error.code === 'INTERNAL_SERVER_ERROR' ? 'Something went wrong' : shape.message,
  data: { ...shape.data, auth: authErrorData({ error, path }), endpoint: endpointErrorData({ error }) },
})
