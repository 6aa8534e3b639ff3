import { defineAuthConfig, sessionCookieProof } from '@sallyport/core'
import { findKey } from './old-app.ts'

export const authConfig = defineAuthConfig({
  baseUrl: 'http://localhost:3000',
  ...sessionCookieProof({ cookie: 'token', secret: null, findSession: async (token) => findKey(token) }),
})
