import type { LinkEmail, NoticeEmail, SendEmail } from '@sallyport/core/plugins'
import { expect, vi } from 'vitest'

/** Where the emails of a test end up. */
export interface Outbox {
  readonly sendEmail: SendEmail
  /** Emails so far. */
  readonly emails: (LinkEmail | NoticeEmail)[]
  /** Waits for the next email with a link and takes it out; fails when it is of another kind. */
  takeLink(kind: LinkEmail['kind']): Promise<LinkEmail>
  /** Waits for the next email that tells of a change and takes it out. */
  takeNotice(kind: NoticeEmail['kind']): Promise<NoticeEmail>
}

export function createOutbox(): Outbox {
  const emails: Outbox['emails'] = []

  async function take(kind: string): Promise<LinkEmail | NoticeEmail> {
    const email = await vi.waitFor(
      () => {
        const [first] = emails
        if (first === undefined) throw new Error(`No email came, let alone ${kind}`)
        return first
      },
      { interval: 2, timeout: 5_000 },
    )
    emails.shift()
    expect(email.kind).toBe(kind)
    return email
  }

  return {
    sendEmail: async (email) => void emails.push(email),
    emails,
    async takeLink(kind) {
      const email = await take(kind)
      if (!('token' in email)) throw new Error(`${kind} has no link`)
      return email
    },
    async takeNotice(kind) {
      const email = await take(kind)
      if ('token' in email) throw new Error(`${kind} has a link`)
      return email
    },
  }
}
