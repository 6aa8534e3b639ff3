import { defineAuth } from '@sallyport/core/auth'
import { admin, emailPassword, organization } from '@sallyport/core/plugins'
import * as z from 'zod'
import { authConfig, keys } from './auth.config.ts'

export default defineAuth({
  config: authConfig,
  signingKeys: keys.signingKeys,
  plugins: [emailPassword(), admin(), organization()],
  user: { additionalFields: { locale: { schema: z.enum(['en', 'de']), default: 'en', input: true } } },
})
