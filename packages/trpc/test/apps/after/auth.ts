import { createAuth, defineAuth } from '@sallyport/core/auth'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { openSqlite } from '@sallyport/core/sqlite'
import { authConfig } from './auth.config.ts'

const definition = defineAuth({
  config: authConfig,
  signingKeys: process.env.SIGNING_KEYS,
  plugins: [emailPassword()],
})
export const auth = createAuth(definition, () => openSqlite(process.env.DATABASE_URL ?? 'file:app.db'))
