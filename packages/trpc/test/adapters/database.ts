import { testAuth } from './test-auth.ts'

export const database = { db: testAuth.db, close: testAuth.close }
