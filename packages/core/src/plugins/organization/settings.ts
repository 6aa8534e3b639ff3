import { checkRateLimit, type RateLimit, requirePositive, type SessionUser } from '../../index.ts'
import { refuseOrganization } from './reasons.ts'
import { allRoles } from './roles.ts'

/** An invitation on its way to its recipient. */
export interface InvitationDelivery {
  /** The recipient, as it was given but in lower case. Whether there is an account with it nobody has asked. */
  readonly email: string
  /** For the link. Put it behind a `#`, which browsers send to no server: `https://app.example.com/join#token=...` */
  readonly token: string
  readonly role: string
  readonly expiresAt: Date
  readonly organization: { readonly id: string; readonly name: string; readonly slug: string }
  readonly inviter: { readonly id: string; readonly name: string; readonly email: string }
}

/** Delivers an invitation, in the words and the language of the app. */
export type DeliverInvitation = (invitation: InvitationDelivery) => Promise<void>

/** How often something may be done. Every attempt counts, the refused ones too. */
export interface OrganizationLimits {
  /** Organizations that one user creates. @default 20 in an hour */
  readonly creations: RateLimit
  /** Invitations by one user. @default 100 in an hour */
  readonly invitations: RateLimit
  /** Invitations to one email address, by one organization. @default 5 in an hour */
  readonly recipient: RateLimit
  /** Invitations to one email address, by all organizations. @default 50 in an hour */
  readonly recipientOverall: RateLimit
  /** Tokens that one user tries. @default 30 in 15 minutes */
  readonly acceptances: RateLimit
}

/** What `organization()` takes. */
export interface OrganizationOptions {
  /** Delivers the invitations, after the answer. Without it `inviteMember` answers 501 `INVITATIONS_UNAVAILABLE`. */
  readonly deliverInvitation?: DeliverInvitation
  /** Roles besides `owner`, `admin` and `member`, for conditions of the app's own; here they may do what a member may. @default [] */
  readonly roles?: readonly string[]
  /** Whether a user may create an organization; else 403 `ROLE_REQUIRED`. @default everyone may */
  readonly allowCreate?: (user: SessionUser) => boolean | Promise<boolean>
  /** Of how many organizations one may be a member. @default 100 */
  readonly maxOrganizationsPerUser?: number
  /** @default 604_800, a week */
  readonly invitationExpiresInSeconds?: number
  /** How often something may be done; each has a default of its own. */
  readonly limits?: Partial<OrganizationLimits>
}

/** What the endpoints of `organization()` share. */
export interface Settings
  extends Required<Omit<OrganizationOptions, 'deliverInvitation' | 'limits'>>,
    Pick<OrganizationOptions, 'deliverInvitation'> {
  /** All there are. */
  readonly roles: readonly string[]
  readonly limits: OrganizationLimits
}

const HOUR_SECONDS = 60 * 60
const WEEK_SECONDS = 7 * 24 * HOUR_SECONDS
/** A hundred years. */
const LONGEST_SECONDS = 100 * 365 * 24 * HOUR_SECONDS

/** How often one user changes which organization is active, or what one is called: each change is recorded. */
export const CHANGES: RateLimit = { points: 300, duration: HOUR_SECONDS }

const DEFAULT_LIMITS: OrganizationLimits = {
  creations: { points: 20, duration: HOUR_SECONDS },
  invitations: { points: 100, duration: HOUR_SECONDS },
  recipient: { points: 5, duration: HOUR_SECONDS },
  recipientOverall: { points: 50, duration: HOUR_SECONDS },
  acceptances: { points: 30, duration: HOUR_SECONDS / 4 },
}

/**
 * Fills in the defaults.
 *
 * @throws ConfigurationError naming the option that cannot work
 */
export function toSettings({
  deliverInvitation,
  roles = [],
  allowCreate = () => true,
  maxOrganizationsPerUser = 100,
  invitationExpiresInSeconds = WEEK_SECONDS,
  limits = {},
}: OrganizationOptions): Settings {
  const limit = (name: keyof OrganizationLimits) =>
    checkRateLimit(`limits.${name}`, limits[name] ?? DEFAULT_LIMITS[name])
  return {
    ...(deliverInvitation !== undefined && { deliverInvitation }),
    roles: allRoles(roles),
    allowCreate,
    maxOrganizationsPerUser: requirePositive('maxOrganizationsPerUser', maxOrganizationsPerUser),
    invitationExpiresInSeconds: requirePositive(
      'invitationExpiresInSeconds',
      invitationExpiresInSeconds,
      LONGEST_SECONDS,
    ),
    limits: {
      creations: limit('creations'),
      invitations: limit('invitations'),
      recipient: limit('recipient'),
      recipientOverall: limit('recipientOverall'),
      acceptances: limit('acceptances'),
    },
  }
}

/** @throws EndpointError `INVITATIONS_UNAVAILABLE` */
export function requireDelivery(deliverInvitation: DeliverInvitation | undefined): DeliverInvitation {
  if (deliverInvitation === undefined) throw refuseOrganization('INVITATIONS_UNAVAILABLE')
  return deliverInvitation
}
