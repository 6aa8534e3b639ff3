import { rejections } from '../../protocol/endpoint-error.ts'

export const ORGANIZATION_ERRORS = {
  INVITATION_INVALID: { status: 400, message: 'This invitation has expired, was withdrawn or has been used' },
  INVITATION_FOR_ANOTHER: { status: 403, message: 'This invitation is for another email address' },
  ORGANIZATION_NOT_FOUND: { status: 404, message: 'Organization not found' },
  MEMBER_NOT_FOUND: { status: 404, message: 'Member not found' },
  INVITATION_NOT_FOUND: { status: 404, message: 'Invitation not found' },
  SLUG_TAKEN: { status: 409, message: 'Another organization has this slug' },
  ALREADY_MEMBER: { status: 409, message: 'This user is already a member' },
  OWNER_NEEDED: {
    status: 409,
    message: 'An organization needs an owner. Make another member an owner, or delete the organization.',
  },
  TOO_MANY_ORGANIZATIONS: { status: 409, message: 'You are a member of too many organizations' },
  INVITATIONS_UNAVAILABLE: { status: 501, message: 'This app delivers no invitations' },
} as const

export const organizationError: ReturnType<typeof rejections<typeof ORGANIZATION_ERRORS>> =
  rejections(ORGANIZATION_ERRORS)
