import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { signingKeys } from './signing-keys.ts'

export const authConfig = defineAuthConfig({
  baseUrl: 'http://localhost:3000',
  jwks: staticJwks(signingKeys.publicJwks),
})
