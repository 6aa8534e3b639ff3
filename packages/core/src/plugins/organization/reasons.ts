import { type RejectionTable, rejections } from '../../auth.ts'

/** What may be wrong with a call of an endpoint of `organization()`. */
export const REASONS_OF_ORGANIZATION = {
  INVITATION_INVALID: { status: 400, message: 'This invitation has expired, was withdrawn or has been used' },
  INVITATION_FOR_ANOTHER: { status: 403, message: 'This invitation is for another email address' },
  ORGANIZATION_NOT_FOUND: { status: 404, message: 'You are a member of no such organization' },
  MEMBER_NOT_FOUND: { status: 404, message: 'There is no such member' },
  INVITATION_NOT_FOUND: { status: 404, message: 'There is no such invitation' },
  SLUG_TAKEN: { status: 409, message: 'Another organization has this slug' },
  ALREADY_MEMBER: { status: 409, message: 'They are a member already' },
  OWNER_NEEDED: {
    status: 409,
    message: 'An organization needs an owner: make someone else one, or delete it',
  },
  TOO_MANY_ORGANIZATIONS: { status: 409, message: 'You are a member of too many organizations' },
  INVITATIONS_UNAVAILABLE: { status: 501, message: 'This app delivers no invitations' },
} as const
REASONS_OF_ORGANIZATION satisfies RejectionTable

/** Makes a refusal of {@link REASONS_OF_ORGANIZATION}. */
export const refuseOrganization: ReturnType<typeof rejections<typeof REASONS_OF_ORGANIZATION>> =
  rejections(REASONS_OF_ORGANIZATION)
