import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { beginSession } from '../../endpoints/issue-tokens.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { userName } from '../../endpoints/user-record.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { insertAccount } from './accounts.ts'
import { countAddress, countEmail } from './attempts.ts'
import { emailAddress } from './email-address.ts'
import { readDevice, rememberDevice } from './known-device.ts'
import { newPassword } from './password.ts'
import { createLink } from './send-email.ts'
import { hashNewPassword, type Settings } from './settings.ts'

/** What `POST /sign-up/email` takes. */
export interface SignUpInput {
  name: string
  email: string
  password: string
  /** False for a session that ends with the browser, or after a day. @default true */
  rememberMe?: boolean
}

/** Creates a user and signs them in. */
export function signUpEmail({ limits, sendEmail }: Settings): Endpoint<SignUpInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.signUpEmail,
    caller: 'anyone',
    setsCookies: true,
    input: z.strictObject({
      name: userName,
      email: emailAddress,
      password: newPassword,
      rememberMe: z.boolean().exactOptional(),
    }),
    output: tokens,
    async run({ name, email, password, rememberMe }, context) {
      await countAddress(context, limits)
      if (sendEmail !== undefined) await countEmail(email, context, limits)
      // Two of them are refused before there is an account.
      await readDevice(context)
      const passwordHash = await hashNewPassword(password, email)
      const now = context.config.now()
      const { userId } = await context.change((trx, record) =>
        insertAccount(trx, record, { name, email, passwordHash, role: 'user', now }),
      )
      const { body, cookies } = await beginSession(userId, context, { rememberMe })
      const deviceCookies = await rememberDevice(userId, context)
      if (sendEmail !== undefined) {
        const user = { id: userId, name, email }
        const link = { kind: 'verify-email', to: email, user, now } as const
        context.later(async () => sendEmail(await context.change((trx) => createLink(trx, link))))
      }
      return { body, cookies: [...cookies, ...deviceCookies] }
    },
  })
}
