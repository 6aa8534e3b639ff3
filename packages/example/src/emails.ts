import type { EmailCodeOptions } from '@sallyport/core/plugins/email-code'
import { env, isProduction } from './env.ts'

/** The page that the link of an email opens. */
const PAGES: Readonly<Record<string, string>> = {
  'reset-password': '/reset-password',
  'verify-email': '/verify-email',
  'change-email': '/verify-email',
  'email-changed': '/undo-email-change',
  'email-code': '/email-link',
}

interface PrintedEmail {
  readonly kind: string
  readonly to: string
  /** Null if a notice has no link. */
  readonly token?: string | null
  readonly code?: string
}

/**
 * Prints an email to the terminal, in place of a mail service. Browsers don't send what follows `#`, so the
 * token reaches no server log.
 */
export async function printEmail({ kind, to, token = null, code }: PrintedEmail): Promise<void> {
  const page = PAGES[kind]
  const link = page === undefined || token === null ? undefined : `${env.BASE_URL}${page}#token=${token}`
  const content = [code, link].filter(Boolean).join(' or ')
  console.log(`Email to ${to} (${kind})${content && `: ${content}`}`)
}

/** Prints a code to the terminal, but not in production, where the log may have readers. */
export const sendCode: EmailCodeOptions['sendEmail'] = async (email) => {
  if (isProduction) throw new Error('Codes need a mail service. Call yours here.')
  await printEmail(email)
}
