import { createRouteHandlers } from '@sallyport/trpc/next'
import { respond } from '../../../../../web.ts'

export const { GET, OPTIONS, POST } = createRouteHandlers(respond, { addressHeader: 'x-real-ip' })
