import { createAuth, defineAuth } from '@sallyport/core/auth'
import { emailPassword } from '@sallyport/core/plugins'
import { openSqlite } from '@sallyport/core/sqlite'
import { authConfig } from './auth.config.ts'

const authDefinition = defineAuth({
  config: authConfig,
  signingKeys: process.env.SIGNING_KEYS,
  plugins: [emailPassword()],
})

export const database = await openSqlite('file:data/app.db')
export const auth = await createAuth(authDefinition, database)
