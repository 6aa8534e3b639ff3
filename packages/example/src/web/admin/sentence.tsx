import type { AuthEvent, RevocationCause } from '@sallyport/core'
import type { ReactNode } from 'react'
import type { AuditRecord } from './admin-user.ts'
import { BanEnd } from './ban-end.tsx'

/** Describes an audit record in a sentence. */
export function sentenceOf(record: AuditRecord): ReactNode {
  const { type, userId, detail, address } = record
  const user = record.email ?? (userId === null ? 'an unknown user' : 'a deleted user')
  // At the start of a sentence. An email stays as it is.
  const subject = record.email ?? user.replace('a', 'A')
  const from = address === null ? '' : ` from ${address}`
  const by = record.actorEmail === null ? '' : ` by ${record.actorEmail}`
  switch (type) {
    case 'session.created':
      return `${subject} signed in${from}${detail.knownDevice === false ? ' on a new device' : ''}.`
    case 'session.refreshed':
      return `A session of ${user} was extended.`
    case 'session.revoked':
      return `A session of ${user} was ended${by}: ${CAUSES[`${detail.cause}`] ?? detail.cause}.`
    case 'session.expired':
      return `An expired session of ${user} was removed.`
    case 'user.created':
      return `${subject} was created${by}.`
    case 'user.deleted':
      return `${subject} was deleted${by}.`
    case 'user.banned':
      return (
        <>
          {subject} was banned{by} <BanEnd until={detail.expiresAt} />
          {detail.reason !== null && `: ${detail.reason}`}.
        </>
      )
    case 'user.unbanned':
      return `The ban of ${user} was lifted${by}.`
    case 'user.role-changed':
      return `The role of ${user} was changed from ${detail.from} to ${detail.to}${by}.`
    case 'user.updated':
      return `${subject} changed their profile: ${Object.keys(Object(detail.to)).join(', ')}.`
    case 'user.verified':
      return `${subject} confirmed ${detail.email}.`
    case 'verification.requested':
      return `${subject} requested a link to confirm their email${from}.`
    case 'recovery.requested':
      return `A new password for ${record.email ?? 'an unknown account'} was requested${from}.`
    case 'user.email-change-requested':
      return `${subject} requested to change their email to ${detail.to}${from}.`
    case 'user.email-changed':
      return `The email of ${user} was changed from ${detail.from} to ${detail.to}.`
    case 'user.email-change-undone':
      return `The email of ${user} was restored from ${detail.from} to ${detail.to}.`
    case 'rate-limit.rejected':
      return `${record.email ?? 'A client'} exceeded the limit "${detail.limit}"${from}.`
    case 'admin.users-listed':
      return `${record.actorEmail} listed users${detail.search === null ? '' : `: ${detail.search}`}.`
    case 'admin.sessions-listed':
      return `${record.actorEmail} listed the sessions of ${user}.`
    case 'admin.factors-listed':
      return `${record.actorEmail} listed how ${user} signs in.`
    case 'admin.audit-read':
      return `${record.actorEmail} read the audit trail.`
    case 'user.password-changed':
      return `${subject} changed their password.`
    case 'sign-in.failed':
      return `A sign-in of ${user} failed${from}: ${FAILURES[`${detail.reason}`] ?? detail.reason}.`
    case 'organization:created':
      return `${subject} created an organization.`
    case 'organization:updated':
      return `${record.actorEmail} changed an organization.`
    case 'organization:deleted':
      return `${record.actorEmail} deleted an organization.`
    case 'organization:activated':
      return `${subject} switched to another organization.`
    case 'organization:invitation-created':
      return `${record.actorEmail} created an invitation.`
    case 'organization:invitation-canceled':
      return `${record.actorEmail} canceled an invitation.`
    case 'organization:member-added':
      return `${subject} joined an organization.`
    case 'organization:member-removed':
      return `${subject} ${by === '' ? 'left' : 'was removed from'} an organization${by}.`
    case 'organization:role-changed':
      return `The role of ${user} in an organization was changed${by}.`
    case 'user.factors-reset':
      return `The second factors of ${user} were removed${by}: ${detail.reason}.`
    case 'email-password:username-changed':
      return `${subject} chose the username "${detail.to}".`
    case 'email-password:sign-up-taken':
      return `A visitor tried to sign up with the email of ${user}${from}.`
    case 'email-code:requested':
      return `A sign-in code for ${record.email ?? 'an unknown account'} was requested${from}.`
    case 'anonymous:upgraded':
      return `${subject} created an account and kept their data.`
    case 'oauth:account-linked':
      return `${subject} linked the provider "${detail.provider}".`
    case 'oauth:account-unlinked':
      return `${subject} unlinked the provider "${detail.provider}".`
    case 'passkeys:added':
      return `${subject} added the passkey "${detail.name}".`
    case 'passkeys:removed':
      return `${subject} removed the passkey "${detail.name}".`
    case 'passkeys:counter-regressed':
      return `A passkey of ${user} was rejected: there may be a copy of its device.`
    case 'totp:enabled':
      return `${subject} set up an authenticator app.`
    case 'totp:disabled':
      return `${subject} removed their authenticator app.`
    case 'totp:recovery-codes-created':
      return `${subject} created new recovery codes.`
    case 'session.version-changed':
      return `A session of ${user} got new credentials.`
    default:
      return `${subject}: ${type}${by}.`
  }
}

const CAUSES: Readonly<Record<string, string>> = {
  'sign-out': 'signed out',
  revoked: 'revoked',
  'revoked-by-admin': 'revoked by an admin',
  replaced: 'the same browser signed in again',
  evicted: 'too many sessions',
  'password-changed': 'the password was changed',
  'password-reset': 'the password was reset',
  'email-changed': 'the email was changed by a link opened in another browser',
  'user-deleted': 'the user was deleted',
  'token-replayed': 'its token was used twice',
  'email-change-undone': 'an email change was undone',
  'factor-changed': 'the second factor was changed',
  'factors-reset': 'an admin removed the second factors',
} satisfies Record<RevocationCause, string>

const FAILURES: Readonly<Record<string, string>> = {
  INVALID_CREDENTIALS: 'wrong email or password',
  CODE_INVALID: 'wrong code',
  ACCOUNT_BANNED: 'banned',
  RATE_LIMITED: 'too many attempts',
} satisfies Record<Extract<AuthEvent, { type: 'sign-in.failed' }>['reason'], string>
