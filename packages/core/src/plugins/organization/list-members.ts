import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../auth.ts'
import { ENDPOINTS, type MemberResponse } from '../../protocol.ts'
import { findMembership } from './membership.ts'
import { isAfter, type OrganizationPageInput, pageInput, toPage } from './page.ts'
import { memberAnswer, toIso } from './plain-schemas.ts'
import { withOwnTables } from './tables.ts'

/** A page of members, the oldest first. */
export interface ListMembersOutput {
  members: MemberResponse[]
  /** Null on the last page. */
  nextCursor: string | null
}

/** The members of an organization, for each of them. */
export const listMembers: Endpoint<OrganizationPageInput, ListMembersOutput, false> = defineEndpoint({
  ...ENDPOINTS.listMembers,
  caller: 'user',
  input: pageInput,
  output: z.object({ members: z.array(memberAnswer), nextCursor: z.string().nullable() }),
  async run({ organizationId, limit = 50, cursor }, { identity: { userId }, database: { db } }) {
    await findMembership(db, { organizationId, userId })
    const rows = await withOwnTables(db)
      .selectFrom('member')
      .innerJoin('user', 'user.id', 'member.userId')
      .where('member.organizationId', '=', organizationId)
      .where(isAfter('member', cursor))
      .select(['member.id', 'userId', 'name', 'email', 'image', 'member.role', 'member.createdAt'])
      .orderBy('member.createdAt')
      .orderBy('member.id')
      .limit(limit + 1)
      .execute()
    const { page, nextCursor } = toPage(rows, limit)
    const members = page.map((row) => ({ ...row, createdAt: toIso(row.createdAt) }))
    return { body: { members, nextCursor } }
  },
})
