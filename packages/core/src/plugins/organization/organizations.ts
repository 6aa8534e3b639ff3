import * as z from 'zod/mini'
import type { AuthTransaction } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { done, id } from '../../endpoints/plain-schemas.ts'
import { userName } from '../../endpoints/user-record.ts'
import { ENDPOINTS, type OrganizationResponse, type SuccessResponse } from '../../protocol.ts'
import { isDuplicate } from '../../session/conflict.ts'
import { denial } from '../../session/report-denial.ts'
import { joinOrganization, lockMembership, OWNER, requireManager } from './membership.ts'
import { organizationResponse, slugSchema } from './plain-schemas.ts'
import { CHANGES, organizationError, type Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

export interface CreateOrganizationInput {
  name: string
  /** Lower-case letters, digits, and single dashes between them. @default derived from the name */
  slug?: string
}

type Changed = { organization: OrganizationResponse }

/** Creates an organization with the caller as its owner, and activates it if their session has none. */
export function createOrganization(settings: Settings): Endpoint<CreateOrganizationInput, Changed, false> {
  const { allowCreate, limits, maxOrganizationsPerUser } = settings
  return defineEndpoint({
    ...ENDPOINTS.createOrganization,
    caller: 'user',
    input: z.strictObject({ name: userName, slug: z.exactOptional(slugSchema) }),
    output: z.object({ organization: organizationResponse }),
    async run({ name, slug }, { session, config, limit, change }) {
      const { userId } = session
      await limit(`organization:create:${userId}`, limits.creations)
      if (!(await allowCreate(session.user))) throw denial('ROLE_REQUIRED', session.id, { config })
      const now = config.now()
      const id = crypto.randomUUID()
      return change(async (trx, record) => {
        const inserted = { id, name, slug: await insertOrganization(trx, { id, name, slug, createdAt: now }) }
        const owner = { organizationId: id, userId, role: OWNER, createdAt: now }
        await joinOrganization(trx, owner, { sessionId: session.id, maxOrganizationsPerUser })
        const detail = { organizationId: id }
        record({ type: 'organization:created', userId, actorId: null, at: now, detail })
        return { body: { organization: { ...inserted, role: OWNER, createdAt: now.toISOString() } } }
      })
    },
  })
}

/** Returns the slug, a derived one with a suffix if it is taken. @throws EndpointError `SLUG_TAKEN` */
async function insertOrganization(
  trx: AuthTransaction,
  { slug, ...organization }: { id: string; name: string; slug: string | undefined; createdAt: Date },
): Promise<string> {
  const derived = slugOf(organization.name)
  const candidates = slug === undefined ? [derived, `${derived}-${organization.id.slice(0, 8)}`] : [slug]
  for (const candidate of candidates) {
    const created = await withOwnTables(trx)
      .insertInto('organization')
      .values({ ...organization, slug: candidate })
      .onConflict((conflict) => conflict.column('slug').doNothing())
      .returning('slug')
      .executeTakeFirst()
    if (created !== undefined) return created.slug
  }
  throw organizationError('SLUG_TAKEN')
}

const MAX_DERIVED_LENGTH = 40

/** Turns `Café Ümlaut & Co.` into `cafe-umlaut-co`. */
function slugOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .slice(0, MAX_DERIVED_LENGTH)
    .match(/[a-z0-9]+/g)
  return words?.join('-') ?? 'organization'
}

export type UpdateOrganizationInput = { organizationId: string; name?: string; slug?: string }

/** Renames an organization, or changes its slug. Only owners and admins may call it. */
export const updateOrganization: Endpoint<UpdateOrganizationInput, Changed, false> = defineEndpoint({
  ...ENDPOINTS.updateOrganization,
  caller: 'user',
  input: z.strictObject({
    organizationId: id,
    name: z.exactOptional(userName),
    slug: z.exactOptional(slugSchema),
  }),
  output: z.object({ organization: organizationResponse }),
  async run({ organizationId, name, slug }, context) {
    const { userId } = context.identity
    await context.limit(`organization:change:${userId}`, CHANGES)
    const at = context.config.now()
    return context.change(async (trx, record) => {
      const organization = await lockMembership(trx, { organizationId, userId })
      requireManager(organization.role, 'member', context)
      const changed = { name: name ?? organization.name, slug: slug ?? organization.slug }
      if (changed.name === organization.name && changed.slug === organization.slug)
        return { body: { organization } }
      await withOwnTables(trx)
        .updateTable('organization')
        .set(changed)
        .where('id', '=', organizationId)
        .execute()
        .catch((cause: unknown) => {
          throw isDuplicate(cause) ? organizationError('SLUG_TAKEN', { cause }) : cause
        })
      const detail = { organizationId, ...changed }
      record({ type: 'organization:updated', userId: null, actorId: userId, at, detail })
      return { body: { organization: { ...organization, ...changed } } }
    })
  },
})

/** Deletes an organization with its members and invitations. Only owners may call it. */
export const deleteOrganization: Endpoint<{ organizationId: string }, SuccessResponse, false> =
  defineEndpoint({
    ...ENDPOINTS.deleteOrganization,
    caller: 'fresh-user',
    input: z.strictObject({ organizationId: id }),
    output: done,
    async run({ organizationId }, context) {
      const { userId: actorId } = context.identity
      const at = context.config.now()
      await context.change(async (trx, record) => {
        const { role } = await lockMembership(trx, { organizationId, userId: actorId, others: 'all' })
        requireManager(role, OWNER, context)
        const db = withOwnTables(trx)
        const deletion = db.deleteFrom('member').where('organizationId', '=', organizationId)
        const members = await deletion.returning('userId').execute()
        await db.deleteFrom('organization').where('id', '=', organizationId).execute()
        const detail = { organizationId }
        for (const { userId } of members) {
          const removed = { userId, actorId: userId === actorId ? null : actorId }
          record({ type: 'organization:member-removed', ...removed, at, detail })
        }
        record({ type: 'organization:deleted', userId: null, actorId, at, detail })
      })
      return { body: { success: true } }
    },
  })
