import { defineAuthConfig } from '@sallyport/core'
import { type KeyFile, openKeyFile } from '@sallyport/core/auth'
import { baseUrl, keyFile } from './settings.ts'

export const keys: KeyFile = await openKeyFile(keyFile)

export const authConfig = defineAuthConfig({ baseUrl, jwks: keys.jwks, bearer: true })
