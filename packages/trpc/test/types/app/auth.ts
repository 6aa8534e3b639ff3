import { defineAuthConfig, dynamicJwks } from '@sallyport/core'
import { defineAuth } from '@sallyport/core/auth'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { organization } from '@sallyport/core/plugins/organization'
import * as z from 'zod'
import { notes } from './notes.ts'

const config = defineAuthConfig({
  baseUrl: 'https://app.example.com',
  jwks: dynamicJwks('https://app.example.com/api/auth/jwks'),
})

export default defineAuth({
  config,
  signingKeys: undefined,
  plugins: [emailPassword(), admin(), organization(), notes],
  user: { additionalFields: { credits: { type: 'number', schema: z.number(), default: 0 } } },
  session: { additionalFields: { impersonatedBy: { schema: z.string().nullable() } } },
})
