import { createAuth } from '@sallyport/core/auth'
import authDefinition from './auth.ts'
import { database } from './database.ts'

/** The endpoints under `/api/auth`: a handler for requests, and methods for the server's code. */
export const auth = await createAuth(authDefinition, database)
