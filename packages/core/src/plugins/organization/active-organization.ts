import { type RawBuilder, sql } from 'kysely'
import * as z from 'zod'
import type { Engine } from '../../database/mapping.ts'
import type { ActiveOrganizationResponse } from '../../protocol.ts'

type Column = { readonly schema: z.ZodType<string | null> }

/** The organization that a session works in, and the user's role there. Step 2 reads them on every call. */
export const sessionColumns: { readonly [Name in keyof ActiveOrganizationResponse]: Column } = {
  activeOrganizationId: { schema: z.string().nullable() },
  activeOrganizationRole: { schema: z.string().nullable() },
}

/** Copies a changed or deleted membership into the member's sessions. */
const followMember = (row: 'old' | 'new') =>
  sql.raw(`
  update "session" set ("activeOrganizationId", "activeOrganizationRole") =
    (select "organizationId", "role" from "member" where "organizationId" = ${row}."organizationId" and "userId" = ${row}."userId")
  where "userId" = ${row}."userId" and "activeOrganizationId" = ${row}."organizationId";`)

/**
 * Creates triggers that keep sessions equal to the membership's row, even if it is changed by hand. A change
 * notifies watchers of the session on every node, as a change of the user's role does.
 */
export function activeOrganizationTriggers(engine: Engine): RawBuilder<unknown>[] {
  if (engine === 'postgres') return postgresTriggers()
  return [
    sql`create trigger "organization_member_changed" after update on "member" begin ${followMember('old')} end`,
    sql`create trigger "organization_member_deleted" after delete on "member" begin ${followMember('old')} end`,
    // `replace into` runs no trigger for updates or deletions.
    sql`create trigger "organization_member_inserted" after insert on "member" begin ${followMember('new')} end`,
    sql`create trigger "organization_session_changed" after update on "session"
      when old."activeOrganizationId" is not null and (
        new."activeOrganizationId" is not old."activeOrganizationId" or
        new."activeOrganizationRole" is not old."activeOrganizationRole")
      begin
        insert into revocation_log (sessionId, userId) values (old.id, old.userId);
      end`,
  ]
}

function postgresTriggers(): RawBuilder<unknown>[] {
  return [
    sql`create function organization_follow_member() returns trigger language plpgsql as $$
      begin ${followMember('old')} return null; end $$`,
    sql`create function organization_leave_all() returns trigger language plpgsql as $$
      begin
        update "session" set "activeOrganizationId" = null, "activeOrganizationRole" = null
          where "activeOrganizationId" is not null;
        return null;
      end $$`,
    sql`create trigger "organization_member_truncated" after truncate on "member"
      for each statement execute function organization_leave_all()`,
    sql`create trigger "organization_member_changed" after update or delete on "member"
      for each row execute function organization_follow_member()`,
    sql`create trigger "organization_session_changed" after update on "session"
      for each row when (old."activeOrganizationId" is not null and (
        new."activeOrganizationId" is distinct from old."activeOrganizationId" or
        new."activeOrganizationRole" is distinct from old."activeOrganizationRole"))
      execute function sallyport_log_revocation('id', 'userId')`,
  ]
}
