import { defineAuth } from '@sallyport/core/auth'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { organization } from '@sallyport/core/plugins/organization'
import * as z from 'zod'
import { authConfig, keys } from './auth.config.ts'

export default defineAuth({
  config: authConfig,
  signingKeys: keys.signingKeys,
  plugins: [emailPassword(), admin(), organization()],
  user: { additionalFields: { locale: { schema: z.enum(['en', 'de']), default: 'en', input: true } } },
})
