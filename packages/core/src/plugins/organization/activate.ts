import type { ActiveOrganization } from './active-organization.ts'
import type { OrganizationKysely } from './tables.ts'

/**
 * Makes a session work in an organization, of which its user is a member; the row of that membership is locked.
 *
 * @returns whether it did not work there before
 */
export async function activate(
  db: OrganizationKysely,
  {
    sessionId,
    onlyIfNone = false,
    ...active
  }: ActiveOrganization & { sessionId: string; onlyIfNone?: boolean },
): Promise<boolean> {
  const { activeOrganizationId, activeOrganizationRole } = active
  let statement = db
    .updateTable('session')
    .set(active)
    .where('id', '=', sessionId)
    .where(({ eb, or }) =>
      or([
        eb('activeOrganizationId', 'is distinct from', activeOrganizationId),
        eb('activeOrganizationRole', 'is distinct from', activeOrganizationRole),
      ]),
    )
  if (onlyIfNone) statement = statement.where('activeOrganizationId', 'is', null)
  const { numUpdatedRows } = await statement.executeTakeFirst()
  return numUpdatedRows > 0n
}
