import { withAuthStore } from '@sallyport/core'
import { openPostgresStore } from '@sallyport/core/postgres'
import { drizzle } from 'drizzle-orm/node-postgres'
import { mapping, pool, withImport } from './clerk.ts'

export const store = await openPostgresStore({ pool }, { mapping })
export const db = withAuthStore(drizzle(pool), { ...store, sessions: withImport(store.sessions) })
