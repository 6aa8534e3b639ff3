import { defineAuth } from '@sallyport/core/auth'
import { admin } from '@sallyport/core/plugins/admin'
import { anonymous } from '@sallyport/core/plugins/anonymous'
import { emailCode } from '@sallyport/core/plugins/email-code'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { oauth } from '@sallyport/core/plugins/oauth'
import { organization } from '@sallyport/core/plugins/organization'
import { passkeys } from '@sallyport/core/plugins/passkeys'
import { totp } from '@sallyport/core/plugins/totp'
import * as z from 'zod'
import { authConfig } from './auth.config.ts'
import { providers } from './demo-provider/app-at-provider.ts'
import { printEmail, sendCode } from './emails.ts'
import { isProduction } from './env.ts'
import { printInvitation } from './invitations.ts'
import { encryptionKeys } from './keys/encryption-keys.ts'
import { signingKeys } from './keys/signing-keys.ts'

/** Replace the whole value with `{ sendEmail }` of your mail service. Here, production sends no emails. */
const emails = isProduction ? {} : { sendEmail: printEmail }
const password = emailPassword({ usernames: true, ...emails })

/** The auth definition with its plugins. Only `auth-server.ts` and `get-auth.ts` import it. */
export default defineAuth({
  config: authConfig,
  signingKeys,
  encryptionKeys,
  plugins: [
    password,
    anonymous({ password, pruneAfterDays: 30 }),
    admin(),
    organization(isProduction ? {} : { deliverInvitation: printInvitation }),
    oauth({ providers, errorTo: '/sign-in', ...emails }),
    passkeys({ appName: 'Control room', requiredAtSignIn: true, ...emails }),
    totp({ issuer: 'Control room', ...emails }),
    emailCode({ sendEmail: sendCode }),
  ],
  user: {
    // The language of the user's reports.
    additionalFields: { locale: { schema: z.enum(['en', 'de']), default: 'en', input: true } },
  },
  session: {
    // The user's name for the device.
    additionalFields: { deviceName: { schema: z.string().nullable() } },
  },
})
