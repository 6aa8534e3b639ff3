import type { Kysely } from 'kysely'
import * as z from 'zod'
import { type AuthTables, type AuthTransaction, defineEndpoint, type Endpoint } from '../../auth.ts'
import { ENDPOINTS, type InvitationResponse, type SuccessResponse } from '../../protocol.ts'
import { isAfter, toPage } from '../pagination.ts'
import { findMembership, findRole, lockMembership, type MembershipKey, requireManager } from './membership.ts'
import {
  done,
  emailAddress,
  id,
  invitationAnswer,
  type OrganizationPageInput,
  pageInput,
  toIso,
} from './plain-schemas.ts'
import { refuseOrganization } from './reasons.ts'
import { mayManage, roleSchema } from './roles.ts'
import { requireDelivery, type Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** What `POST /organization/invite-member` takes. */
export interface InviteMemberInput {
  organizationId: string
  email: string
  role: string
}

/**
 * Invites whoever reads the mail of an address. An invitation to that address which is still open no longer counts. The answer and the work
 * are the same whether there is an account with the address or not.
 */
export function inviteMember({
  deliverInvitation,
  roles,
  limits,
  invitationExpiresInSeconds,
}: Settings): Endpoint<InviteMemberInput, { invitation: InvitationResponse }, false> {
  return defineEndpoint({
    ...ENDPOINTS.inviteMember,
    caller: 'user',
    input: z.strictObject({ organizationId: id, email: emailAddress, role: roleSchema(roles) }),
    output: z.object({ invitation: invitationAnswer }),
    async run({ organizationId, email, role }, context) {
      const deliver = requireDelivery(deliverInvitation)
      const { session, config, limit, change, later, database } = context
      const { userId } = session
      await limit(`organization:invite:${userId}`, limits.invitations)
      // Nobody else is to use up the invitations to an address.
      if (await mayInvite(database.db, { organizationId, userId }, role)) {
        const recipient = await hash(email)
        await limit(`organization:recipient:${organizationId}:${recipient}`, limits.recipient)
        await limit(`organization:recipient:${recipient}`, limits.recipientOverall)
      }

      const createdAt = config.now()
      const expiresAt = new Date(createdAt.getTime() + invitationExpiresInSeconds * 1000)
      const token = createToken()
      const row = {
        id: crypto.randomUUID(),
        organizationId,
        email,
        role,
        token: await hash(token),
        inviterId: userId,
        expiresAt,
        createdAt,
      }
      const { name, slug } = await change(async (trx, record) => {
        const organization = await lockMembership(trx, { organizationId, userId })
        requireManager(organization.role, role, context)
        await refuseMember(trx, row)
        const open = await takeOpen(trx, row)
        // It may be one that only an owner may make.
        if (open !== undefined) requireManager(organization.role, open.role, context)
        await withOwnTables(trx).insertInto('invitation').values(row).execute()
        const detail = { organizationId, invitationId: row.id, role }
        record({
          type: 'organization:invitation-created',
          userId: null,
          actorId: userId,
          at: createdAt,
          detail,
        })
        return organization
      })
      const { id: inviterId, name: inviterName, email: inviterEmail } = session.user
      const inviter = { id: inviterId, name: inviterName, email: inviterEmail }
      const organization = { id: organizationId, name, slug }
      later(() => deliver({ email, token, role, expiresAt, organization, inviter }))
      const moments = { createdAt: createdAt.toISOString(), expiresAt: expiresAt.toISOString() }
      return { body: { invitation: { id: row.id, email, role, inviterId: userId, ...moments } } }
    },
  })
}

/** As far as it can be told before the change, in whose transaction it is decided. */
async function mayInvite(db: Kysely<AuthTables>, inviter: MembershipKey, role: string): Promise<boolean> {
  const own = await findRole(db, inviter)
  return own !== null && mayManage(own, role)
}

interface Recipient {
  readonly organizationId: string
  readonly email: string
}

/** @throws EndpointError `ALREADY_MEMBER`, which whoever may invite can see in the list of the members */
async function refuseMember(trx: AuthTransaction, { organizationId, email }: Recipient): Promise<void> {
  const member = await withOwnTables(trx)
    .selectFrom('member')
    .innerJoin('user', 'user.id', 'member.userId')
    .where('organizationId', '=', organizationId)
    .where('user.email', '=', email)
    .select('userId')
    .executeTakeFirst()
  if (member !== undefined) throw refuseOrganization('ALREADY_MEMBER')
}

/** Removes the invitation before this one, if there is any. */
function takeOpen(
  trx: AuthTransaction,
  { organizationId, email }: Recipient,
): Promise<{ role: string } | undefined> {
  return withOwnTables(trx)
    .deleteFrom('invitation')
    .where('organizationId', '=', organizationId)
    .where('email', '=', email)
    .returning('role')
    .executeTakeFirst()
}

/** A page of invitations, the oldest first. */
export interface ListInvitationsOutput {
  invitations: InvitationResponse[]
  /** Null on the last page. */
  nextCursor: string | null
}

/** The invitations of an organization that are still open, for whoever may invite. */
export const listInvitations: Endpoint<OrganizationPageInput, ListInvitationsOutput, false> = defineEndpoint({
  ...ENDPOINTS.listInvitations,
  caller: 'user',
  input: pageInput,
  output: z.object({ invitations: z.array(invitationAnswer), nextCursor: z.string().nullable() }),
  async run({ organizationId, limit = 50, cursor }, context) {
    const { identity, config, database } = context
    const { role } = await findMembership(database.db, { organizationId, userId: identity.userId })
    requireManager(role, 'member', context)
    const rows = await withOwnTables(database.db)
      .selectFrom('invitation')
      .where('organizationId', '=', organizationId)
      .where('expiresAt', '>', config.now())
      .where(isAfter({ table: 'invitation', order: 'asc', cursor }))
      .select(['id', 'email', 'role', 'inviterId', 'createdAt', 'expiresAt'])
      .orderBy('createdAt')
      .orderBy('id')
      .limit(limit + 1)
      .execute()
    const { page, nextCursor } = toPage(rows, limit)
    const invitations = page.map((row) => ({
      ...row,
      createdAt: toIso(row.createdAt),
      expiresAt: toIso(row.expiresAt),
    }))
    return { body: { invitations, nextCursor } }
  },
})

/** What `POST /organization/cancel-invitation` takes. */
export interface CancelInvitationInput {
  organizationId: string
  invitationId: string
}

/** Withdraws an invitation. */
export const cancelInvitation: Endpoint<CancelInvitationInput, SuccessResponse, false> = defineEndpoint({
  ...ENDPOINTS.cancelInvitation,
  caller: 'user',
  input: z.strictObject({ organizationId: id, invitationId: id }),
  output: done,
  async run({ organizationId, invitationId }, context) {
    const { userId } = context.identity
    const at = context.config.now()
    await context.change(async (trx, record) => {
      const { role } = await lockMembership(trx, { organizationId, userId })
      requireManager(role, 'member', context)
      const canceled = await withOwnTables(trx)
        .deleteFrom('invitation')
        .where('id', '=', invitationId)
        .where('organizationId', '=', organizationId)
        .returning('role')
        .executeTakeFirst()
      if (canceled === undefined) throw refuseOrganization('INVITATION_NOT_FOUND')
      requireManager(role, canceled.role, context)
      const detail = { organizationId, invitationId }
      record({ type: 'organization:invitation-canceled', userId: null, actorId: userId, at, detail })
    })
    return { body: { success: true } }
  },
})

/** A new token: 256 random bits in base64url. It is in what the app delivers and nowhere else. */
function createToken(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')
}

/** What stands for a token where it is stored, and for an email address in the key of a limit. */
export async function hash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return `sha256:${Buffer.from(digest).toString('hex')}`
}
