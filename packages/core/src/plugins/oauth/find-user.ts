import type { AuthKysely } from '../../database/schema/kysely-tables.ts'
import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { hasSecondFactor } from '../../endpoints/require-second-factor.ts'
import { lockValidUser } from '../../lifecycle/create-session.ts'
import { lockUsers } from '../../lifecycle/locked-sessions.ts'
import { selectUser } from '../email-user.ts'
import { insertUser } from '../insert-user.ts'
import { oauthError } from './errors.ts'
import type { Person } from './prove.ts'
import type { Provider } from './providers.ts'
import { wasUnlinked } from './unlinked.ts'

/** A row of the table `account`. */
export interface LinkedAccount {
  readonly id: string
  readonly userId: string
  /** Whether this sign-in linked it to a user who existed. */
  readonly isLinked?: boolean
  /** Whether this sign-in created its user. */
  readonly isNew?: boolean
}

/** Finds the account of a person at a provider, by the provider's id alone. */
export function findAccount(
  db: AuthKysely,
  { provider, accountId }: { provider: Provider; accountId: string },
): Promise<LinkedAccount | undefined> {
  const accounts = db.selectFrom('account').select(['id', 'userId']).where('providerId', '=', provider.id)
  return accounts.where('accountId', '=', accountId).executeTakeFirst()
}

/** Returns the user that a sign-in will probably find; undefined if it will create one. */
export async function findUser(
  db: AuthKysely,
  { person, provider }: Pick<SignIn, 'person' | 'provider'>,
): Promise<string | undefined> {
  const account = await findAccount(db, { provider, ...person })
  // An unverified email isn't looked up: the time of the response would reveal whether a user has it.
  if (account !== undefined || person.email === null || !person.emailVerified) return account?.userId
  const users = db.selectFrom('user').select('id').where('email', '=', person.email)
  return (await users.executeTakeFirst())?.id
}

type SignIn = { person: Person; provider: Provider; now: Date }
type FirstSignIn = SignIn & Pick<EndpointContext, 'secondFactors'> & { newUserId: string }

/**
 * Returns the account of a person, or creates it: for the user with the same email, if both sides have
 * verified it, or for a new user.
 * @throws EndpointError `PROVIDER_EMAIL_UNVERIFIED`, before the email is looked up, or `ACCOUNT_EXISTS`;
 * AuthError `ACCOUNT_BANNED`
 */
export async function findOrCreateAccount(
  trx: AuthTransaction,
  record: RecordEvent,
  { person, provider, secondFactors, newUserId, now }: FirstSignIn,
): Promise<LinkedAccount> {
  const find = () => findAccount(trx, { provider, ...person })
  const known = await find()
  if (known !== undefined) return known
  const { email } = person
  if (email === null || !person.emailVerified) throw oauthError('PROVIDER_EMAIL_UNVERIFIED')
  const found = await trx.selectFrom('user').select('id').where('email', '=', email).executeTakeFirst()
  if (found !== undefined) {
    await lockUsers(trx, [found.id])
    // Before the lock, another browser of this person may have signed in.
    const linked = await find()
    if (linked !== undefined) return linked
    await requireSamePerson(trx, { userId: found.id, email, provider, secondFactors })
    // The sign-in of a banned user fails, so it links nothing. Only that user may learn of the ban.
    await lockValidUser(trx, found.id, now)
    const account = { userId: found.id, person, provider, now }
    return { ...(await insertAccount(trx, record, account)), isLinked: true }
  }
  const { image } = person
  const name = person.name ?? 'New user'
  const emailVerified = provesEmail(person, provider)
  const created = { id: newUserId, name, email, emailVerified, image, now }
  const userId = await insertUser(trx, record, created)
  if (userId === null) {
    // The other browser's sign-in may have created the user.
    const other = await find()
    if (other === undefined) throw oauthError('ACCOUNT_EXISTS')
    return other
  }
  return { ...(await insertAccount(trx, record, { userId, person, provider, now })), isNew: true }
}

/** Returns whether the provider's word proves that the person receives the mail of their address. */
export function provesEmail(person: Person, { linkByEmail = true }: Provider): boolean {
  return person.emailVerified && linkByEmail
}

/**
 * Rejects a user whose email may belong to someone else by now: an attacker can sign up with an address
 * before its owner does, and a provider can give an address to another person, who has another id there. A
 * mailbox must not add a way in to an account that a second factor protects. A removed provider stays out
 * until the user links it. Call it after the user was locked.
 * @throws EndpointError `ACCOUNT_EXISTS`
 */
async function requireSamePerson(
  trx: AuthTransaction,
  {
    userId,
    email,
    provider,
    secondFactors,
  }: Omit<FirstSignIn, 'person' | 'newUserId' | 'now'> & Record<'userId' | 'email', string>,
): Promise<void> {
  const user = await selectUser(trx, { id: userId }).select('emailVerified').executeTakeFirst()
  const isVerified = user?.email === email && Boolean(user.emailVerified)
  const accounts = trx.selectFrom('account').select('id').where('userId', '=', userId)
  const sameProvider = await accounts.where('providerId', '=', provider.id).executeTakeFirst()
  const wasRemoved = await wasUnlinked(trx, { userId, provider: provider.id })
  const isFirst = sameProvider === undefined && !wasRemoved
  const isLinkable = isVerified && provider.linkByEmail !== false && isFirst
  if (!isLinkable || (await hasSecondFactor(userId, trx, secondFactors))) throw oauthError('ACCOUNT_EXISTS')
}

/** @throws EndpointError `ACCOUNT_TAKEN` if another user has linked it meanwhile */
export async function insertAccount(
  trx: AuthTransaction,
  record: RecordEvent,
  { userId, person, provider, now }: SignIn & { userId: string },
): Promise<LinkedAccount> {
  const id = crypto.randomUUID()
  const { accountId } = person
  const moments = { createdAt: now, updatedAt: now }
  const inserted = await trx
    .insertInto('account')
    .values({ id, userId, providerId: provider.id, accountId, password: null, ...moments })
    .onConflict((conflict) => conflict.columns(['providerId', 'accountId']).doNothing())
    .returning('id')
    .executeTakeFirst()
  if (inserted === undefined) throw oauthError('ACCOUNT_TAKEN')
  const detail = { provider: provider.id }
  record({ type: 'oauth:account-linked', userId, actorId: null, at: now, detail })
  return { id, userId }
}

/** Rejects an account that was unlinked meanwhile. @throws EndpointError `SIGN_IN_EXPIRED` */
export async function requireAccount(trx: AuthTransaction, { id, userId }: LinkedAccount): Promise<void> {
  const accounts = trx.selectFrom('account').select('id').where('id', '=', id)
  const found = await accounts.where('userId', '=', userId).executeTakeFirst()
  if (found === undefined) throw oauthError('SIGN_IN_EXPIRED')
}

/** Like {@link requireAccount}, and locks the user: nothing removes the account in the meantime. */
export async function lockAccount(trx: AuthTransaction, account: LinkedAccount): Promise<void> {
  await lockUsers(trx, [account.userId])
  await requireAccount(trx, account)
}
