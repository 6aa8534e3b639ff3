import * as z from 'zod'
import { type AuthTransaction, defineEndpoint, type Endpoint } from '../../auth.ts'
import { ENDPOINTS, type OrganizationResponse, type SuccessResponse } from '../../protocol.ts'
import { denial } from '../../session/report-denial.ts'
import { insertMember, lockMembership, requireManager } from './membership.ts'
import { done, id, organizationAnswer, organizationName, slug as slugSchema, toIso } from './plain-schemas.ts'
import { refuseOrganization } from './reasons.ts'
import { OWNER } from './roles.ts'
import { activate } from './set-active-organization.ts'
import { CHANGES, type Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** What `POST /organization/create` takes. */
export interface CreateOrganizationInput {
  name: string
  /** Lower-case letters, digits and single dashes between them. @default one that is made of the name */
  slug?: string
}

/** Creates an organization, whose owner the caller is. A session that works in none works in this one from then on. */
export function createOrganization({
  allowCreate,
  limits,
  maxOrganizationsPerUser,
}: Settings): Endpoint<CreateOrganizationInput, { organization: OrganizationResponse }, false> {
  return defineEndpoint({
    ...ENDPOINTS.createOrganization,
    caller: 'user',
    input: z.strictObject({ name: organizationName, slug: slugSchema.exactOptional() }),
    output: z.object({ organization: organizationAnswer }),
    async run({ name, slug }, { session, config, limit, change }) {
      const { userId } = session
      await limit(`organization:create:${userId}`, limits.creations)
      if (!(await allowCreate(session.user))) throw denial('ROLE_REQUIRED', session.id, config)
      const now = config.now()
      const id = crypto.randomUUID()
      return change(async (trx, record) => {
        const taken = await insertOrganization(trx, { id, name, slug, createdAt: now })
        await insertMember(trx, { organizationId: id, userId, role: OWNER, now }, { maxOrganizationsPerUser })
        await activate(withOwnTables(trx), {
          sessionId: session.id,
          activeOrganizationId: id,
          activeOrganizationRole: OWNER,
          onlyIfNone: true,
        })
        const detail = { organizationId: id }
        record({ type: 'organization:created', userId, actorId: null, at: now, detail })
        const createdAt = now.toISOString()
        return { body: { organization: { id, name, slug: taken, role: OWNER, createdAt } } }
      })
    },
  })
}

interface NewOrganization {
  readonly id: string
  readonly name: string
  readonly slug: string | undefined
  readonly createdAt: Date
}

/**
 * Returns the slug that it got.
 *
 * @throws EndpointError `SLUG_TAKEN` where it was asked for
 */
async function insertOrganization(
  trx: AuthTransaction,
  { slug, ...organization }: NewOrganization,
): Promise<string> {
  const made = slugOf(organization.name)
  const candidates = slug === undefined ? [made, `${made}-${organization.id.slice(0, 8)}`] : [slug]
  for (const candidate of candidates) {
    const created = await withOwnTables(trx)
      .insertInto('organization')
      .values({ ...organization, slug: candidate })
      .onConflict((conflict) => conflict.column('slug').doNothing())
      .returning('slug')
      .executeTakeFirst()
    if (created !== undefined) return created.slug
  }
  throw refuseOrganization('SLUG_TAKEN')
}

const LONGEST_MADE = 40

/** `Café Ümlaut & Co.` is `cafe-umlaut-co`. */
function slugOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .slice(0, LONGEST_MADE)
    .match(/[a-z0-9]+/g)
  return words?.join('-') ?? 'organization'
}

/** The organizations that the caller is a member of, by name. */
export const listOrganizations: Endpoint<object, { organizations: OrganizationResponse[] }, false> =
  defineEndpoint({
    ...ENDPOINTS.listOrganizations,
    caller: 'user',
    input: z.object({}),
    output: z.object({ organizations: z.array(organizationAnswer) }),
    async run(_input, { identity: { userId }, database: { db } }) {
      const rows = await withOwnTables(db)
        .selectFrom('member')
        .innerJoin('organization', 'organization.id', 'member.organizationId')
        .where('member.userId', '=', userId)
        .select(['organization.id', 'name', 'slug', 'role', 'organization.createdAt'])
        .orderBy('name')
        .orderBy('organization.id')
        .execute()
      const organizations = rows.map((row) => ({ ...row, createdAt: toIso(row.createdAt) }))
      return { body: { organizations } }
    },
  })

/** What `POST /organization/update` takes. */
export interface UpdateOrganizationInput {
  organizationId: string
  name?: string
  slug?: string
}

/** Gives an organization another name or slug. */
export const updateOrganization: Endpoint<
  UpdateOrganizationInput,
  { organization: OrganizationResponse },
  false
> = defineEndpoint({
  ...ENDPOINTS.updateOrganization,
  caller: 'user',
  input: z.strictObject({
    organizationId: id,
    name: organizationName.exactOptional(),
    slug: slugSchema.exactOptional(),
  }),
  output: z.object({ organization: organizationAnswer }),
  async run({ organizationId, name, slug }, context) {
    const { userId } = context.identity
    await context.limit(`organization:change:${userId}`, CHANGES)
    const at = context.config.now()
    return context.change(async (trx, record) => {
      const organization = await lockMembership(trx, { organizationId, userId })
      requireManager(organization.role, 'member', context)
      const changed = { name: name ?? organization.name, slug: slug ?? organization.slug }
      await withOwnTables(trx)
        .updateTable('organization')
        .set(changed)
        .where('id', '=', organizationId)
        .execute()
        .catch(refuseTaken)
      record({
        type: 'organization:updated',
        userId: null,
        actorId: userId,
        at,
        detail: { organizationId, ...changed },
      })
      return { body: { organization: { ...organization, ...changed } } }
    })
  },
})

/** The slug is the only thing here that must be unique. */
function refuseTaken(error: unknown): never {
  const code = error instanceof Error && 'code' in error ? error.code : null
  const isTaken = code === '23505' || code === 'SQLITE_CONSTRAINT_UNIQUE'
  throw isTaken ? refuseOrganization('SLUG_TAKEN', { cause: error }) : error
}

/** Deletes an organization with its members and invitations. Sessions that worked in it work in none. */
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
        const detail = { organizationId }
        for (const userId of await removeOrganization(trx, organizationId)) {
          record({ type: 'organization:member-removed', userId, actorId, at, detail })
        }
        record({ type: 'organization:deleted', userId: null, actorId, at, detail })
      })
      return { body: { success: true } }
    },
  })

/** Returns the users who were its members. */
async function removeOrganization(trx: AuthTransaction, organizationId: string): Promise<string[]> {
  const db = withOwnTables(trx)
  const members = await db
    .deleteFrom('member')
    .where('organizationId', '=', organizationId)
    .returning('userId')
    .execute()
  await db.deleteFrom('organization').where('id', '=', organizationId).execute()
  return members.map(({ userId }) => userId)
}
