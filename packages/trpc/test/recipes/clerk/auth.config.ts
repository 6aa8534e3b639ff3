import { defineAuthConfig, dynamicJwks } from '@sallyport/core'

const baseUrl = process.env.BASE_URL ?? ''
export const issuer = process.env.CLERK_FRONTEND_API ?? ''
const jwks = dynamicJwks(`${issuer}/.well-known/jwks.json`, { algorithms: ['RS256'] })
const claims = { userId: 'sub', sessionId: 'sid' }
export const authConfig = defineAuthConfig({
  baseUrl,
  bearer: true,
  jwks,
  trustedIssuers: [{ issuer, audience: baseUrl, typ: 'JWT', jwks, claims }],
})
