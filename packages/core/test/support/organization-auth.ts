import type { AuthEvent } from '@sallyport/core'
import { type Auth, createAuth, createSession, defineAuth, issueJwt } from '@sallyport/core/auth'
import { columnsOf } from '@sallyport/core/internal/auth'
import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import {
  type DeliverInvitation,
  type InvitationDelivery,
  type OrganizationOptions,
  organization,
} from '@sallyport/core/plugins/organization'
import { openPostgres } from '@sallyport/core/postgres'
import { openSqlite } from '@sallyport/core/sqlite'
import type { TestClock } from '@sallyport/core/testing'
import { afterAll, vi } from 'vitest'
import { type OrganizationKysely, withOwnTables } from '../../src/plugins/organization/tables.ts'
import type { SessionKey } from '../../src/session/session.ts'
import { createTestClock } from '../../src/testing/instruments.ts'
import { createIssuer } from './create-issuer.ts'
import { PATIENT, PATIENT_SESSION } from './postgres.ts'
import { createUserMaker, type MadeUser } from './user-maker.ts'

/** A signed-in user, and the request that their browser sends. */
export interface OrganizationPerson extends MadeUser {
  readonly sessionId: string
  readonly cookie: string
  readonly request: { readonly method: string; readonly headers: { get(name: string): string | null } }
}

type Plugins = readonly [
  ReturnType<typeof emailPassword>,
  ReturnType<typeof admin>,
  ReturnType<typeof organization>,
]

export interface OrganizationAuth extends Pick<Auth<Plugins>, 'api' | 'handler' | 'database' | 'prune'> {
  readonly db: OrganizationKysely
  readonly clock: TestClock
  readonly events: AuthEvent[]
  /** The errors of work after a response. */
  readonly errors: unknown[]
  createPerson(role?: string): Promise<OrganizationPerson>
  /** Signs in another browser of a user. */
  signIn(user: MadeUser): Promise<OrganizationPerson>
  /** Waits for the next invitation and removes it from the queue. */
  takeInvitation(): Promise<InvitationDelivery>
  /** Inserts a member directly. */
  insertMember(organizationId: string, userId: string, role: string): Promise<void>
  /** Creates an organization with an owner, an admin, and a member, whose active organization it is. */
  createCompany(): Promise<Company>
  /** Returns a member's stored role; null for others. */
  roleOf(organizationId: string, person: Pick<OrganizationPerson, 'userId'>): Promise<string | null>
  /** Returns the organization and role that Step 2 reads. */
  activeOf(person: SessionKey): Promise<[id: string | null, role: string | null]>
}

export interface Company {
  readonly id: string
  readonly owner: OrganizationPerson
  readonly admin: OrganizationPerson
  readonly member: OrganizationPerson
}

/**
 * Starts a server in memory, or on an empty database. It is closed after the tests of the file.
 */
export async function startOrganizationAuth(
  options: Omit<OrganizationOptions, 'deliverInvitation'> & {
    /** Null delivers nothing. @default to {@link OrganizationAuth.takeInvitation} */
    deliverInvitation?: DeliverInvitation | null
    url?: string
    /** If false, the tables exist. @default true */
    migrate?: boolean
  } = {},
): Promise<OrganizationAuth> {
  const { url = ':memory:', migrate = true, deliverInvitation = take, ...organizationOptions } = options
  const deliveries: InvitationDelivery[] = []
  const events: AuthEvent[] = []
  const errors: unknown[] = []
  const clock = createTestClock()
  const { config, key, signingKeys } = await createIssuer({
    now: clock.now,
    session: PATIENT_SESSION,
    onEvent: (event) => void events.push(event),
    onFailure: ({ cause }) => void errors.push(cause),
  })
  const plugins: Plugins = [
    emailPassword(),
    admin(),
    organization({ ...organizationOptions, ...(deliverInvitation !== null && { deliverInvitation }) }),
  ]
  const definition = defineAuth({ config, signingKeys, plugins })
  const columns = columnsOf(definition)
  const opened = url.startsWith('postgres')
    ? await openPostgres(url, { ...PATIENT, columns, migrate })
    : await openSqlite(url, { columns, migrate })
  afterAll(opened.close)
  const auth = await createAuth(definition, opened, { pruneEverySeconds: 0 })
  const { api, handler, database, prune } = auth

  async function take(delivery: InvitationDelivery): Promise<void> {
    deliveries.push(delivery)
  }

  const makeUser = await createUserMaker({ database, clock })
  const db = withOwnTables(database.db)

  async function signIn(user: MadeUser): Promise<OrganizationPerson> {
    const { userId } = user
    const { id, cookie: sessionCookie, expiresAt } = await createSession(database, { userId, config })
    const { token } = await issueJwt({ id, userId, expiresAt }, { key, config })
    const { cookies } = config
    const cookie = `${cookies.jwt}=${token}; ${cookies.session}=${sessionCookie}`
    const headers = new Headers({ cookie, [CLIENT_HEADER]: '1' })
    return { ...user, sessionId: id, cookie, request: { method: 'POST', headers } }
  }

  const createPerson = async (role?: string) => signIn(await makeUser(role))

  async function insertMember(organizationId: string, userId: string, role: string): Promise<void> {
    const id = crypto.randomUUID()
    await db
      .insertInto('member')
      .values({ id, organizationId, userId, role, createdAt: clock.now() })
      .execute()
  }

  return {
    api,
    handler,
    database,
    prune,
    db,
    clock,
    events,
    errors,
    createPerson,
    signIn,
    insertMember,
    takeInvitation: () =>
      vi.waitFor(
        () => {
          const delivery = deliveries.shift()
          if (delivery === undefined) throw new Error('No invitation came')
          return delivery
        },
        { interval: 2, timeout: 30_000 },
      ),
    async createCompany() {
      const [owner, admin, member] = [await createPerson(), await createPerson(), await createPerson()]
      const { organization } = await api.createOrganization({ name: 'Acme', request: owner.request })
      const { id } = organization
      for (const [person, role] of [
        [admin, 'admin'],
        [member, 'member'],
      ] as const) {
        await insertMember(id, person.userId, role)
        await api.setActiveOrganization({ organizationId: id, request: person.request })
      }
      return { id, owner, admin, member }
    },
    async roleOf(organizationId, { userId }) {
      const row = await db
        .selectFrom('member')
        .select('role')
        .where('organizationId', '=', organizationId)
        .where('userId', '=', userId)
        .executeTakeFirst()
      return row?.role ?? null
    },
    async activeOf(person) {
      const session = await database.sessions.findSession(person)
      return [
        Reflect.get({ ...session }, 'activeOrganizationId'),
        Reflect.get({ ...session }, 'activeOrganizationRole'),
      ]
    },
  }
}
