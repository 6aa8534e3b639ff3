import { testAuth } from './test-auth.ts'

export const auth = testAuth
