import { defineAuthConfig, dynamicJwks } from '@sallyport/core'

export const issuer = `${process.env.SUPABASE_URL}/auth/v1`
const jwks = dynamicJwks(`${issuer}/.well-known/jwks.json`, { algorithms: ['ES256', 'RS256'] })
const claims = { userId: 'sub', sessionId: 'session_id' }
export const authConfig = defineAuthConfig({
  baseUrl: process.env.BASE_URL ?? '',
  bearer: true,
  jwks,
  trustedIssuers: [{ issuer, audience: 'authenticated', typ: 'JWT', jwks, claims }],
})
