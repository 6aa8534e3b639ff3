import type { EmailCodeOptions } from '@sallyport/core/plugins/email-code'
import type { SendEmail } from '@sallyport/core/plugins/email-password'
import { env, isProduction } from './env.ts'

/** The page that uses the link of an email. */
const PAGES: Readonly<Record<string, string>> = {
  'reset-password': '/reset-password',
  'verify-email': '/verify-email',
  'change-email': '/verify-email',
  'email-changed': '/undo-email-change',
}

/**
 * Prints the links of emails to the terminal, in place of a mail service. Notices without a link aren't
 * printed. Browsers don't send what follows `#`, so the token reaches no server log.
 */
export const printEmail: SendEmail = async (email) => {
  const page = PAGES[email.kind]
  if (page === undefined || !('token' in email) || email.token === null) return
  console.log(`Email to ${email.to} (${email.kind}): ${env.BASE_URL}${page}#token=${email.token}`)
}

/** Prints a code to the terminal, but not in production, where the log may have readers. */
export const sendCode: EmailCodeOptions['sendEmail'] = async (email) => {
  if (isProduction) throw new Error('Codes need a mail service. Call yours here.')
  if (email.kind === 'email-code') console.log(`Email to ${email.to} (email-code): ${email.code}`)
}
