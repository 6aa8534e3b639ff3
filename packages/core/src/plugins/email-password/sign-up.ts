import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { beginSession } from '../../endpoints/issue-tokens.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { userName } from '../../endpoints/user-record.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { emailAddress } from '../internal.ts'
import { insertAccount } from './accounts.ts'
import { countAddress, countEmail } from './attempts.ts'
import { readDevice, rememberDevice } from './known-device.ts'
import { createLink, isReserved } from './links.ts'
import { newPassword } from './password.ts'
import { emailPasswordError, hashNewPassword, type Settings } from './settings.ts'
import type { SignInInput } from './sign-in.ts'

export interface SignUpInput extends SignInInput {
  name: string
}

/** Creates a user and signs them in. */
export function signUpEmail(settings: Settings): Endpoint<SignUpInput, TokenResponse, true> {
  const { limits, sendEmail, undoEmailChange } = settings
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
      // Rejects duplicate device cookies before the account exists.
      await readDevice(context)
      const now = context.config.now()
      const { onEvent } = context.database
      const newUser = { id: null, name, email }
      const passwordHash = await hashNewPassword(password, { user: newUser, rules: settings, now, onEvent })
      const { userId } = await context.change(async (trx, record) => {
        const created = await insertAccount(trx, record, { name, email, passwordHash, role: 'user', now })
        if (undoEmailChange && (await isReserved(trx, { email, now, ...created })))
          throw emailPasswordError('EMAIL_TAKEN')
        return created
      })
      const knownDevice = context.sessionTransport === 'header' ? null : false
      const { body, cookies } = await beginSession(userId, context, { rememberMe, knownDevice })
      const deviceCookies = await rememberDevice(userId, context)
      if (sendEmail !== undefined) {
        const user = { id: userId, name, email }
        const link = { kind: 'verify-email', to: email, user, now } as const
        context.later(async () => {
          // Not before the account exists: sign-ups for a taken address must not use up the owner's emails.
          if (!(await countEmail(email, context, limits))) return
          await sendEmail(await context.change((trx) => createLink(trx, link)))
        })
      }
      return { body, cookies: [...cookies, ...deviceCookies] }
    },
  })
}
