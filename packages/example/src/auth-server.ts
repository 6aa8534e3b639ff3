import { createAuth } from '@sallyport/core/auth'
import authDefinition from './auth.ts'
import { database } from './database.ts'

/** The endpoints under `/api/auth`, for requests and for code. */
export const auth = await createAuth(authDefinition, database)
