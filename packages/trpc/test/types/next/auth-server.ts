import { createAuth, defineAuth } from '@sallyport/core/auth'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { authConfig } from './auth.config.ts'
import { database } from './database.ts'

const authDefinition = defineAuth({
  config: authConfig,
  signingKeys: process.env.SIGNING_KEYS,
  plugins: [emailPassword()],
})

export const auth = await createAuth(authDefinition, database)
