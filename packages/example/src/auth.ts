import { defineAuth } from '@sallyport/core/auth'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { organization } from '@sallyport/core/plugins/organization'
import * as z from 'zod'
import { authConfig } from './auth.config.ts'
import { isProduction } from './env.ts'
import { printInvitation } from './invitations.ts'
import { signingKeys } from './keys/signing-keys.ts'

/** The heavy half: the definition with its plugins. Only the server and `get-auth.ts` import it. */
export default defineAuth({
  config: authConfig,
  signingKeys,
  plugins: [
    emailPassword(),
    admin(),
    organization(isProduction ? {} : { deliverInvitation: printInvitation }),
  ],
  user: {
    // The language of their reports.
    additionalFields: { locale: { schema: z.enum(['en', 'de']), default: 'en', input: true } },
  },
  session: {
    // What the user calls the device that they signed in on.
    additionalFields: { deviceName: { schema: z.string().nullable() } },
  },
})
