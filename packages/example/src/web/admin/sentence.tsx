import type { AuthEvent, RevocationCause } from '@sallyport/core'
import type { ReactNode } from 'react'
import type { AuditRecord } from './admin-user.ts'
import { BanEnd } from './ban-end.tsx'

/** What a record of the audit table says. */
export function sentenceOf(record: AuditRecord): ReactNode {
  const { type, userId, detail, address } = record
  const who = record.email ?? (userId === null ? 'Somebody' : 'A deleted user')
  const from = address === null ? '' : ` from ${address}`
  const by = record.actorEmail === null ? '' : ` by ${record.actorEmail}`
  switch (type) {
    case 'session.created':
      return `${who} signed in${from}${detail.knownDevice === false ? ', on a new device' : ''}.`
    case 'session.refreshed':
      return `A session of ${who} was extended.`
    case 'session.revoked':
      return `A session of ${who} ended${by}: ${ENDINGS[`${detail.cause}`] ?? detail.cause}.`
    case 'session.expired':
      return `A session of ${who} had expired and was removed.`
    case 'user.created':
      return `${who} was created${by}.`
    case 'user.deleted':
      return `${who} was deleted${by}.`
    case 'user.banned':
      return (
        <>
          {who} was banned{by} <BanEnd until={detail.expiresAt} />
          {detail.reason !== null && `: ${detail.reason}`}.
        </>
      )
    case 'user.unbanned':
      return `The ban of ${who} was lifted${by}.`
    case 'user.role-changed':
      return `${who} was given the role ${detail.to}${by}, instead of ${detail.from}.`
    case 'user.updated':
      return `${who} changed the profile: ${Object.keys(Object(detail.to)).join(', ')}.`
    case 'user.verified':
      return `${who} confirmed ${detail.email}.`
    case 'verification.requested':
      return `${who} asked for a link to confirm the email${from}.`
    case 'recovery.requested':
      return `A new password for ${record.email ?? 'an unknown account'} was asked for${from}.`
    case 'user.email-change-requested':
      return `${who} asked to change the email to ${detail.to}${from}.`
    case 'user.email-changed':
      return `The email of ${who} was changed from ${detail.from} to ${detail.to}.`
    case 'user.email-change-undone':
      return `The email of ${who} was changed back from ${detail.from} to ${detail.to}.`
    case 'rate-limit.rejected':
      return `${record.email ?? 'A client'} was over the limit of ${detail.limit}${from}.`
    case 'admin.users-listed':
      return `${record.actorEmail} listed users${detail.search === null ? '' : `: ${detail.search}`}.`
    case 'admin.sessions-listed':
      return `${record.actorEmail} listed the sessions of ${who}.`
    case 'admin.audit-read':
      return `${record.actorEmail} read the audit trail.`
    case 'user.password-changed':
      return `${who} changed the password.`
    case 'sign-in.failed':
      return `${who} was rejected${from}: ${FAILURES[`${detail.reason}`] ?? detail.reason}.`
    default:
      return `${who}: ${type}${by}.`
  }
}

const ENDINGS: Readonly<Record<string, string>> = {
  'sign-out': 'signed out',
  revoked: 'revoked',
  'revoked-by-admin': 'revoked by an admin',
  replaced: 'the same browser signed in again',
  evicted: 'there were too many',
  'password-changed': 'the password was changed',
  'password-reset': 'the password was reset',
  'email-changed': 'the email address was changed by a link opened elsewhere',
  'user-deleted': 'the user was deleted',
  'token-replayed': 'its token was used twice',
  'email-change-undone': 'a change of the email was undone',
} satisfies Record<RevocationCause, string>

const FAILURES: Readonly<Record<string, string>> = {
  INVALID_CREDENTIALS: 'wrong email or password',
  ACCOUNT_BANNED: 'banned',
  RATE_LIMITED: 'too many attempts',
} satisfies Record<Extract<AuthEvent, { type: 'sign-in.failed' }>['reason'], string>
