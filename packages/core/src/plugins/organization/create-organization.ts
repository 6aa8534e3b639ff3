import * as z from 'zod'
import { type AuthTransaction, defineEndpoint, type Endpoint } from '../../auth.ts'
import { denial } from '../../index.ts'
import { ENDPOINTS, type OrganizationResponse } from '../../protocol.ts'
import { activate } from './activate.ts'
import { insertMember } from './member.ts'
import { organizationAnswer, organizationName, slug as slugSchema } from './plain-schemas.ts'
import { refuseOrganization } from './reasons.ts'
import { OWNER } from './roles.ts'
import type { Settings } from './settings.ts'
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
