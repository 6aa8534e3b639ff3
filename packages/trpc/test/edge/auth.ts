import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { defineAuth } from '@sallyport/core/auth'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import * as z from 'zod'

// Too heavy for the edge, which only imports its type.
export default defineAuth({
  config: defineAuthConfig({ baseUrl: 'https://app.example.com', jwks: staticJwks(process.env.JWKS) }),
  signingKeys: process.env.SIGNING_KEYS,
  plugins: [emailPassword(), admin()],
  user: { additionalFields: { nickname: { schema: z.string(), default: 'none' } } },
  session: { additionalFields: { tenant: { schema: z.string().nullable() } } },
})
