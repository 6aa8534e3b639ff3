import { withAuthStore } from '@sallyport/core'
import { openPostgresStore } from '@sallyport/core/postgres'
import { drizzle } from 'drizzle-orm/node-postgres'
import { Pool } from 'pg'
import { mapping } from './mapping.ts'

export const pool = new Pool({ connectionString: process.env.DATABASE_URL })
export const store = await openPostgresStore({ pool }, { mapping })
export const db = withAuthStore(drizzle(pool), store)
