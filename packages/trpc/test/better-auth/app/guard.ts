import type { HttpContextOptions } from '@sallyport/trpc'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { auth, database } from './auth.ts'

export const guard = betterAuthGuard(auth)
export const httpContext = (o: HttpContextOptions) => ({ ...guard.http(o), db: guard.attach(database) })
