import { defineAuthConfig, staticJwks } from '@sallyport/core'

const baseUrl = process.env.BASE_URL ?? 'http://localhost:3000'
export const authConfig = defineAuthConfig({ baseUrl, jwks: staticJwks(process.env.JWKS) })
