import { testAuth } from './test-auth.ts'

export const authConfig = testAuth.config
