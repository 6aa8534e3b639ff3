import type { AuthEvent, RevocationCause } from '@sallyport/core'
import type { ReactNode } from 'react'
import type { AuditRecord } from './admin-user.ts'
import { BanEnd } from './ban-end.tsx'

/** What a record of the audit table says. */
export function sentenceOf(record: AuditRecord): ReactNode {
  const { type, userId, detail, address } = record
  const who = record.email ?? (userId === null ? 'Somebody' : 'A deleted user')
  const by = record.actorEmail === null ? '' : ` by ${record.actorEmail}`
  switch (type) {
    case 'session.created':
      return `${who} signed in${address === null ? '' : ` from ${address}`}.`
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
      return `${who} was given the role ${detail.role}${by}.`
    case 'user.email-changed':
      return `The email of ${who} was changed.`
    case 'user.password-changed':
      return `${who} changed the password.`
    case 'sign-in.failed':
      return `${who} was refused${address === null ? '' : ` from ${address}`}: ${FAILURES[`${detail.reason}`] ?? detail.reason}.`
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
  'user-deleted': 'the user was deleted',
  'token-replayed': 'its token was used twice',
} satisfies Record<RevocationCause, string>

const FAILURES: Readonly<Record<string, string>> = {
  INVALID_CREDENTIALS: 'wrong email or password',
  ACCOUNT_BANNED: 'banned',
  RATE_LIMITED: 'too many attempts',
} satisfies Record<Extract<AuthEvent, { type: 'sign-in.failed' }>['reason'], string>
