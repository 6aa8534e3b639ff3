import { rejections } from '../../protocol/endpoint-error.ts'
import { ConfigurationError } from '../../protocol/errors.ts'
import { requirePositive } from '../../protocol/settings.ts'
import type { RateLimit } from '../../rate-limit/rate-limit.ts'
import type { SessionUser } from '../../session/session.ts'
import { rateLimits } from '../internal.ts'

export const ORGANIZATION_ERRORS = {
  INVITATION_INVALID: {
    status: 400,
    message: 'This invitation has expired or has been used. Ask for a new one.',
  },
  INVITATION_FOR_ANOTHER: { status: 403, message: 'Sign in with the email address that was invited' },
  ORGANIZATION_NOT_FOUND: { status: 404, message: 'Organization not found' },
  MEMBER_NOT_FOUND: { status: 404, message: 'Member not found' },
  INVITATION_NOT_FOUND: { status: 404, message: 'Invitation not found' },
  SLUG_TAKEN: { status: 409, message: 'Another organization has this slug. Choose a different one.' },
  ALREADY_MEMBER: { status: 409, message: 'This user is already a member' },
  OWNER_NEEDED: { status: 409, message: 'An organization needs an owner. Make another member an owner.' },
  TOO_MANY_ORGANIZATIONS: { status: 409, message: 'You are in too many organizations. Leave one first.' },
  INVITATIONS_UNAVAILABLE: {
    status: 501,
    message: 'This app cannot deliver invitations. Contact its operator.',
  },
} as const

export const organizationError: ReturnType<typeof rejections<typeof ORGANIZATION_ERRORS>> =
  rejections(ORGANIZATION_ERRORS)

export interface InvitationDelivery {
  /** The recipient, in lower case. There may be no account with this address. */
  readonly email: string
  /** For the link. Put it behind a `#`, which browsers never send: `https://example.com/join#token=...` */
  readonly token: string
  readonly role: string
  readonly expiresAt: Date
  readonly organization: { readonly id: string; readonly name: string; readonly slug: string }
  readonly inviter: { readonly id: string; readonly name: string; readonly email: string }
}

/** Delivers an invitation, in the app's words and language. */
export type DeliverInvitation = (invitation: InvitationDelivery) => Promise<unknown>

/** The rate limits of `organization()`. Every attempt is counted, rejected ones included. */
export interface OrganizationLimits {
  /** Organizations that one user creates. @default 20 in an hour */
  readonly creations: RateLimit
  /** Invitations by one user. @default 100 in an hour */
  readonly invitations: RateLimit
  /** Invitations to one email address, by one organization, and by one user. @default 5 in an hour */
  readonly recipient: RateLimit
  /** Invitations to one email address, by all organizations. @default 50 in an hour */
  readonly recipientOverall: RateLimit
  /** Tokens that one user tries. @default 30 in 15 minutes */
  readonly acceptances: RateLimit
}

export interface OrganizationOptions {
  /** Delivers invitations after the response. Without it, `inviteMember` is 501 `INVITATIONS_UNAVAILABLE`. */
  readonly deliverInvitation?: DeliverInvitation
  /** More roles, for the app's checks. Here they may do what a `member` may. @default [] */
  readonly roles?: readonly string[]
  /** Returns whether a user may create an organization; if not, 403 `ROLE_REQUIRED`. @default () => true */
  readonly allowCreate?: (user: SessionUser) => boolean | Promise<boolean>
  /** @default 100 */
  readonly maxOrganizationsPerUser?: number
  /** At most 100 years. @default 604_800, a week */
  readonly invitationExpiresInSeconds?: number
  readonly limits?: Partial<OrganizationLimits>
}

/** `roles` has all roles. */
export type Settings = Required<Omit<OrganizationOptions, 'deliverInvitation' | 'limits'>> &
  Pick<OrganizationOptions, 'deliverInvitation'> & { readonly limits: OrganizationLimits }

const HOUR_SECONDS = 60 * 60
const WEEK_SECONDS = 7 * 24 * HOUR_SECONDS
const MAX_SECONDS = 100 * 365 * 24 * HOUR_SECONDS

/** Limits how often one user switches or renames organizations, or changes roles. Each change is recorded. */
export const CHANGES: RateLimit = { points: 300, duration: HOUR_SECONDS }

const DEFAULT_LIMITS: OrganizationLimits = {
  creations: { points: 20, duration: HOUR_SECONDS },
  invitations: { points: 100, duration: HOUR_SECONDS },
  recipient: { points: 5, duration: HOUR_SECONDS },
  recipientOverall: { points: 50, duration: HOUR_SECONDS },
  acceptances: { points: 30, duration: HOUR_SECONDS / 4 },
}

export function toSettings({
  roles = [],
  allowCreate = () => true,
  maxOrganizationsPerUser = 100,
  invitationExpiresInSeconds = WEEK_SECONDS,
  limits,
  ...options
}: OrganizationOptions): Settings {
  requirePositive('maxOrganizationsPerUser', maxOrganizationsPerUser)
  requirePositive('invitationExpiresInSeconds', invitationExpiresInSeconds, MAX_SECONDS)
  return {
    ...options,
    roles: allRoles(roles),
    allowCreate,
    maxOrganizationsPerUser,
    invitationExpiresInSeconds,
    limits: rateLimits(DEFAULT_LIMITS, limits),
  }
}

function allRoles(added: readonly string[]): readonly string[] {
  const roles = ['owner', 'admin', 'member', ...added]
  const invalid = roles.find((role, index) => !/^[\w-]{1,64}$/.test(role) || roles.indexOf(role) !== index)
  if (invalid === undefined) return roles
  throw new ConfigurationError(
    `organization({ roles }): ${JSON.stringify(invalid)} is a duplicate or not a valid name. Use letters, digits, dashes, and underscores.`,
  )
}
