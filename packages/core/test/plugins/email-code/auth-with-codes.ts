import type { AuthPlugin } from '@sallyport/core/auth'
import {
  type CodeEmail,
  type EmailCodeOptions,
  emailCode,
  type NoAccountEmail,
  type PasswordRemovedEmail,
} from '@sallyport/core/plugins/email-code'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type BrowserOptions, openBrowser } from '../../support/open-browser.ts'

type SentEmail = CodeEmail | NoAccountEmail | PasswordRemovedEmail

/** Limits that tests about other things never reach. */
const MANY = { points: 1_000_000, duration: 60 }

/** Creates an auth server with `emailCode()`, and keeps its emails. */
export async function createAuthWithCodes(
  options: Partial<EmailCodeOptions> = {},
  plugins: readonly AuthPlugin[] = [],
) {
  const emails: SentEmail[] = []
  const limits = { address: MANY, email: MANY, mailbox: MANY, ...options.limits }
  const sendEmail = async (email: SentEmail) => void emails.push(email)
  const plugin = emailCode({ sendEmail, ...options, limits })
  const auth = await createTestAuth({ bearer: true, plugins: [plugin, ...plugins] })
  afterAll(() => auth.close())
  const sentTo = (to: string) => emails.filter((email) => email.to === to)

  /** Waits for the newest email to an address. Fails if it has no code. */
  async function codeSentTo(to: string): Promise<CodeEmail> {
    const email = await eventually(() => {
      const newest = sentTo(to).at(-1)
      if (newest === undefined) throw new Error(`No email came to ${to}`)
      return newest
    })
    if (email.kind !== 'email-code') throw new Error(`${email.kind} came instead of a code`)
    emails.splice(emails.indexOf(email), 1)
    return email
  }

  const open = (options?: BrowserOptions) => openBrowser(auth, options)
  return { auth, emails, sentTo, codeSentTo, open }
}
