import { defineAuth } from '@sallyport/core/auth'
import { admin, emailPassword } from '@sallyport/core/plugins'
import { authConfig } from './auth.config.ts'
import { signingKeys } from './keys.ts'

/** The heavy half: the definition with its plugins. Only the server imports it. */
export default defineAuth({ config: authConfig, signingKeys, plugins: [emailPassword(), admin()] })
