import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Email, LinkEmail, SendEmail } from '@sallyport/core/plugins/email-password'
import { expect, vi } from 'vitest'

/** The emails of a test. */
export interface Outbox {
  readonly sendEmail: SendEmail
  /** Emails so far. */
  readonly emails: Email[]
  /** Waits for the next email with a link and removes it. Fails if its kind differs. */
  takeLink<Kind extends LinkEmail['kind']>(kind: Kind): Promise<EmailOf<Kind>>
  /** Waits for the next email about a change and removes it. */
  takeNotice<Kind extends Exclude<Email['kind'], LinkEmail['kind']>>(kind: Kind): Promise<EmailOf<Kind>>
  /** Removes all emails, also those that follow a response of this turn. */
  empty(): Promise<void>
}

type EmailOf<Kind extends Email['kind']> = Email & { kind: Kind }

export function createOutbox(): Outbox {
  const emails: Outbox['emails'] = []

  async function take<Kind extends Email['kind']>(kind: Kind): Promise<EmailOf<Kind>> {
    const email = await vi.waitFor(
      () => {
        const [first] = emails
        if (first === undefined) throw new Error(`No email came, let alone ${kind}`)
        return first
      },
      { interval: 2, timeout: 30_000 },
    )
    emails.shift()
    expect(email.kind).toBe(kind)
    if (!isOfKind(email, kind)) throw new Error(`${email.kind} came instead of ${kind}`)
    return email
  }

  async function empty(): Promise<void> {
    await nextTurn()
    emails.length = 0
  }

  return { sendEmail: async (email) => emails.push(email), emails, takeLink: take, takeNotice: take, empty }
}

function isOfKind<Kind extends Email['kind']>(email: Email, kind: Kind): email is EmailOf<Kind> {
  return email.kind === kind
}
