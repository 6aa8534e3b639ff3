import { createAuth } from '@sallyport/core/auth'
import authDefinition from './auth.ts'
import { database } from './database.ts'

export const auth = await createAuth(authDefinition, database)
