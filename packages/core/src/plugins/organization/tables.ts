import type { Kysely } from 'kysely'
import type { Migrations } from '../../database/migrations.ts'
import type { AuthTables, Timestamp } from '../../database/schema.ts'
import type { ActiveOrganizationResponse } from '../../protocol.ts'
import { activeOrganizationTriggers } from './active-organization.ts'

export type OrganizationTables = {
  organization: { id: string; name: string; slug: string; createdAt: Timestamp }
  member: { id: string; organizationId: string; userId: string; role: string; createdAt: Timestamp }
  /** Pending invitations. */
  invitation: {
    id: string
    organizationId: string
    /** In lower case. */
    email: string
    role: string
    /** `sha256:<hex>` of the token that was delivered. */
    token: string
    inviterId: string
    expiresAt: Timestamp
    createdAt: Timestamp
  }
  session: AuthTables['session'] & ActiveOrganizationResponse
}

export type OrganizationKysely = Kysely<Omit<AuthTables, 'session'> & OrganizationTables>

export function withOwnTables(db: Kysely<AuthTables>): OrganizationKysely {
  return db.withTables<OrganizationTables>()
}

export const migrations: Migrations = {
  async '0001_organization'(schema, { timestamp, engine }, db) {
    await schema
      .createTable('organization')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('slug', 'text', (column) => column.notNull().unique())
      .addColumn('createdAt', timestamp, (column) => column.notNull())
      .execute()
    await schema
      .createTable('member')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('organizationId', 'text', (column) =>
        column.notNull().references('organization.id').onDelete('cascade'),
      )
      .addColumn('userId', 'text', (column) => column.notNull())
      .addColumn('role', 'text', (column) => column.notNull())
      .addColumn('createdAt', timestamp, (column) => column.notNull())
      .addUniqueConstraint('member_organizationId_userId', ['organizationId', 'userId'])
      // Checked at commit: the hook for a deleted user must still find their memberships.
      .addForeignKeyConstraint('member_user', ['userId'], 'user', ['id'], (key) =>
        key.deferrable().initiallyDeferred(),
      )
      .execute()
    await schema.createIndex('member_userId').on('member').column('userId').execute()
    await schema
      .createTable('invitation')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('organizationId', 'text', (column) => column.notNull())
      .addColumn('email', 'text', (column) => column.notNull())
      .addColumn('role', 'text', (column) => column.notNull())
      .addColumn('token', 'text', (column) => column.notNull().unique())
      .addColumn('inviterId', 'text', (column) => column.notNull())
      .addColumn('expiresAt', timestamp, (column) => column.notNull())
      .addColumn('createdAt', timestamp, (column) => column.notNull())
      .addUniqueConstraint('invitation_organizationId_email', ['organizationId', 'email'])
      // Drops invitations sent by former members.
      .addForeignKeyConstraint(
        'invitation_inviter',
        ['organizationId', 'inviterId'],
        'member',
        ['organizationId', 'userId'],
        (key) => key.onDelete('cascade'),
      )
      .execute()
    await schema
      .createIndex('invitation_inviter')
      .on('invitation')
      .columns(['organizationId', 'inviterId'])
      .execute()
    await schema.createIndex('invitation_expiresAt').on('invitation').column('expiresAt').execute()
    for (const statement of activeOrganizationTriggers(engine)) await statement.execute(db)
  },
}
