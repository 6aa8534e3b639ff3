import { type Kysely, type RawBuilder, sql } from 'kysely'
import * as z from 'zod/mini'
import type { Engine } from '../../database/mapping.ts'
import type { Migrations } from '../../database/migrations.ts'
import type { AuthTables, Timestamp } from '../../database/schema.ts'
import type { ActiveOrganizationResponse } from '../../protocol.ts'

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

type Column = { readonly schema: z.core.$ZodType<string | null> }

/** The active organization of a session, and the user's role there. Step 2 reads both on every call. */
export const sessionColumns: { readonly [Name in keyof ActiveOrganizationResponse]: Column } = {
  activeOrganizationId: { schema: z.nullable(z.string()) },
  activeOrganizationRole: { schema: z.nullable(z.string()) },
}

export const migrations: Migrations = {
  async '0001_organization'(schema, { timestamp, engine }, db) {
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
      .addColumn('inviterId', 'text', (column) => column.notNull())
      .addColumn('expiresAt', timestamp, (column) => column.notNull())
      .addColumn('createdAt', timestamp, (column) => column.notNull())
      // Drops invitations sent by former members.
      .addForeignKeyConstraint(
        'invitation_organizationId_inviterId_fkey',
        ['organizationId', 'inviterId'],
        'member',
        ['organizationId', 'userId'],
        (key) => key.onDelete('cascade'),
      )
      .execute()
    await unique('invitation_token_key').on('invitation').column('token').execute()
    const address = unique('invitation_organizationId_email').on('invitation')
    await address.columns(['organizationId', 'email']).execute()
    const inviter = schema.createIndex('invitation_inviter').on('invitation')
    await inviter.columns(['organizationId', 'inviterId']).execute()
    await schema.createIndex('invitation_expiresAt').on('invitation').column('expiresAt').execute()
    for (const statement of activeOrganizationTriggers(engine)) await statement.execute(db)
  },
}

/** Copies a changed or deleted membership into the member's sessions. */
const followMember = (row: 'old' | 'new') =>
  sql.raw(`
  update "session" set ("activeOrganizationId", "activeOrganizationRole") =
    (select "organizationId", "role" from "member" where "organizationId" = ${row}."organizationId" and "userId" = ${row}."userId")
  where "userId" = ${row}."userId" and "activeOrganizationId" = ${row}."organizationId";`)

/** Creates triggers that copy a changed membership into its sessions, even if it is changed by hand. */
function activeOrganizationTriggers(engine: Engine): RawBuilder<unknown>[] {
  if (engine === 'postgres') return postgresTriggers()
  return [
    sql`create trigger if not exists "organization_member_changed" after update on "member" begin ${followMember('old')} end`,
    sql`create trigger if not exists "organization_member_deleted" after delete on "member" begin ${followMember('old')} end`,
    // `replace into` runs no trigger for updates or deletions.
    sql`create trigger if not exists "organization_member_inserted" after insert on "member" begin ${followMember('new')} end`,
  ]
}

function postgresTriggers(): RawBuilder<unknown>[] {
  return [
    sql`create or replace function organization_follow_member() returns trigger language plpgsql as $$
      begin ${followMember('old')} return null; end $$`,
    sql`create or replace function organization_leave_all() returns trigger language plpgsql as $$
      begin
        update "session" set "activeOrganizationId" = null, "activeOrganizationRole" = null
          where "activeOrganizationId" is not null;
        return null;
      end $$`,
    sql`create or replace trigger "organization_member_truncated" after truncate on "member"
      for each statement execute function organization_leave_all()`,
    sql`create or replace trigger "organization_member_changed" after update or delete on "member"
      for each row execute function organization_follow_member()`,
    sql`create or replace trigger "organization_session_changed" after update on "session"
      for each row when (to_jsonb(old) ->> 'activeOrganizationId' is not null)
      execute function ${sql.table('sallyport.log_revocation')}(
        'id', 'userId', '', 'timestamp', 'activeOrganizationId', 'activeOrganizationRole')`,
  ]
}
