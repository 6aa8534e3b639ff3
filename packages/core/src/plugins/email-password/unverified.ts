import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { isEndpointError } from '../../protocol/endpoint-error.ts'
import { type EmailUser, findUser } from '../email-user.ts'
import { countEmail } from './attempts.ts'
import { createLink, isReserved } from './links.ts'
import { requireEmail, type Settings } from './settings.ts'

/** Sends the verification email to the address of a user, after the response. */
export function sendVerification(
  userId: string,
  context: EndpointContext,
  { limits, sendEmail }: Pick<Settings, 'limits' | 'sendEmail'>,
): void {
  const send = requireEmail(sendEmail)
  const now = context.config.now()
  context.later(async () => {
    const user = await findUser(context.database.db, { id: userId })
    // Sign-ups for a taken address must not use up the owner's emails, so nothing was counted before.
    if (user === undefined || !(await countEmail(user.email, context, limits))) return
    const link = { kind: 'verify-email', to: user.email, user, now } as const
    await send(await context.change((trx) => createLink(trx, link)))
  })
}

/**
 * Sends a link that gives a user this email, after the response. If the email is taken, its owner gets a
 * notice instead.
 */
export function sendChangeLink(
  user: EmailUser,
  context: EndpointContext,
  { limits, sendEmail, undoEmailChange }: Pick<Settings, 'limits' | 'sendEmail' | 'undoEmailChange'>,
): void {
  const send = requireEmail(sendEmail)
  const { config, database, change, later } = context
  const now = config.now()
  const { id: userId, email } = user
  later(async () => {
    if (!(await countEmail(email, context, limits))) return
    const link = await change((trx) => createLink(trx, { kind: 'change-email', to: email, user, now }))
    const owner = await findUser(database.db, { email })
    if (owner !== undefined) return send({ kind: 'sign-up-taken', to: email, user: owner })
    if (undoEmailChange && (await isReserved(database.db, { email, userId, now }))) return
    await send(link)
  })
}

/**
 * Hides that a sign-up failed because its email is taken: writes a record, as for a new account, and sends
 * the owner a notice. @throws every other error of the sign-up
 */
export async function hideTaken(
  error: unknown,
  email: string,
  { context, settings }: { context: EndpointContext; settings: Settings },
): Promise<void> {
  if (!isEndpointError(error) || error.code !== 'EMAIL_TAKEN') throw error
  const { change, config, database, later } = context
  const send = requireEmail(settings.sendEmail)
  // Undefined if another user can still restore this address.
  const user = await findUser(database.db, { email })
  const event = { userId: user?.id ?? null, actorId: null, at: config.now() }
  await change(async (_trx, record) => record({ type: 'email-password:sign-up-taken', ...event }))
  if (user === undefined) return
  later(async () => {
    if (await countEmail(email, context, settings.limits))
      await send({ kind: 'sign-up-taken', to: email, user })
  })
}
