import { createAuthClient } from '@sallyport/trpc/client'
import type { auth } from './auth.ts'

export const authClient = createAuthClient<typeof auth.api>()
