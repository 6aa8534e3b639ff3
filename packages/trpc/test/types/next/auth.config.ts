import { defineAuthConfig, staticJwks } from '@sallyport/core'

export const authConfig = defineAuthConfig({
  baseUrl: process.env.BASE_URL ?? 'http://localhost:3000',
  jwks: staticJwks(process.env.JWKS),
})
