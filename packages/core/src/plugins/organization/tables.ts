import type { Kysely } from 'kysely'
import * as z from 'zod/mini'
import type { AuthTables, Timestamp } from '../../database/schema/kysely-tables.ts'
import type { Migrations } from '../../database/schema/migrations.ts'
import type { ActiveOrganizationResponse } from '../../protocol.ts'
import type { ForeignColumn } from '../../session/added-columns.ts'

export type OrganizationTables = {
  organization: { id: string; name: string; slug: string; createdAt: Timestamp }
  member: { id: string; organizationId: string; userId: string; role: string; createdAt: Timestamp }
  invitation: {
    id: string
    organizationId: string
    /** In lower case. */
    email: string
    role: string
    /** `sha256:<hex>` of the token that was delivered. */
    token: string
    /** The sender. */
    memberId: string
    expiresAt: Timestamp
    createdAt: Timestamp
  }
  session: AuthTables['session'] & Pick<ActiveOrganizationResponse, 'activeOrganizationId'>
}

export type OrganizationKysely = Kysely<Omit<AuthTables, 'session'> & OrganizationTables>

export function withOwnTables(db: Kysely<AuthTables>): OrganizationKysely {
  return db.$extendTables<OrganizationTables>()
}

type Column = { readonly schema: z.core.$ZodType<string | null>; readonly from: ForeignColumn }

export type OrganizationColumns = { readonly [Name in keyof ActiveOrganizationResponse]: Column }

/** Reads the membership in the organization that the user chose, which may have ended since. */
const ofMember = (column: keyof OrganizationTables['member']): Column => ({
  schema: z.nullable(z.string()),
  from: { table: 'member', column, where: { organizationId: 'activeOrganizationId', userId: 'userId' } },
})

/** The active organization of a session, and the user's role there. Step 2 reads both on every call. */
export const sessionColumns: OrganizationColumns = {
  activeOrganizationId: ofMember('organizationId'),
  activeOrganizationRole: ofMember('role'),
}

export const migrations: Migrations = {
  async '0001_organization'(schema, { timestamp }) {
    const unique = (name: string) => schema.createIndex(name).unique()
    await schema
      .createTable('organization')
      .addColumn('id', 'text', (column) => column.notNull().primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('slug', 'text', (column) => column.notNull())
      .addColumn('createdAt', timestamp, (column) => column.notNull())
      .execute()
    await unique('organization_slug_key').on('organization').column('slug').execute()
    await schema
      .createTable('member')
      .addColumn('id', 'text', (column) => column.notNull().primaryKey())
      .addColumn('organizationId', 'text', (column) =>
        column.notNull().references('organization.id').onDelete('cascade'),
      )
      .addColumn('userId', 'text', (column) => column.notNull())
      .addColumn('role', 'text', (column) => column.notNull())
      .addColumn('createdAt', timestamp, (column) => column.notNull())
      // Checked at commit: the hook for a deleted user must still find their memberships.
      .addForeignKeyConstraint('member_userId_fkey', ['userId'], 'user', ['id'], (key) =>
        key.deferrable().initiallyDeferred(),
      )
      .execute()
    const membership = unique('member_organizationId_userId').on('member')
    await membership.columns(['organizationId', 'userId']).execute()
    await schema.createIndex('member_userId').on('member').column('userId').execute()
    await schema
      .createTable('invitation')
      .addColumn('id', 'text', (column) => column.notNull().primaryKey())
      .addColumn('organizationId', 'text', (column) => column.notNull())
      .addColumn('email', 'text', (column) => column.notNull())
      .addColumn('role', 'text', (column) => column.notNull())
      .addColumn('token', 'text', (column) => column.notNull())
      // Drops invitations sent by former members.
      .addColumn('memberId', 'text', (column) => column.notNull().references('member.id').onDelete('cascade'))
      .addColumn('expiresAt', timestamp, (column) => column.notNull())
      .addColumn('createdAt', timestamp, (column) => column.notNull())
      .execute()
    await unique('invitation_token_key').on('invitation').column('token').execute()
    const address = unique('invitation_organizationId_email').on('invitation')
    await address.columns(['organizationId', 'email']).execute()
    await schema.createIndex('invitation_memberId').on('invitation').column('memberId').execute()
    await schema.createIndex('invitation_expiresAt').on('invitation').column('expiresAt').execute()
  },
}
