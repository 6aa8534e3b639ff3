import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { beginSession } from '../../endpoints/issue-tokens.ts'
import { recordBan } from '../../endpoints/record-ban.ts'
import { renewSession } from '../../endpoints/renew-session.ts'
import { requireSecondFactor } from '../../endpoints/require-second-factor.ts'
import { AuthError } from '../../protocol/errors.ts'
import { selectUser, sendNotice } from '../email-user.ts'
import { redirectToApp } from './app-code.ts'
import { oauthError } from './errors.ts'
import {
  findAccount,
  findOrCreateAccount,
  findUser,
  insertAccount,
  lockAccount,
  provesEmail,
  requireAccount,
} from './find-user.ts'
import type { Finished, Flow } from './flow.ts'
import type { Person, Proof } from './prove.ts'
import type { Provider } from './providers.ts'
import { resumeSession } from './resume-session.ts'
import type { Settings } from './settings.ts'
import { encryptTokensOf } from './stored-tokens.ts'
import { forgetUnlinked } from './unlinked.ts'

/** Clocks of the provider and of this server differ. */
const CLOCK_TOLERANCE_SECONDS = 10

interface Finishing {
  readonly flow: Flow
  readonly provider: Provider
  readonly context: EndpointContext
  readonly settings: Settings
}

/** Does what a visit to a provider was for. */
export function finish(proof: Proof, finishing: Finishing): Promise<Finished> {
  switch (finishing.flow.purpose) {
    case 'sign-in':
      return signIn(proof, finishing)
    case 'link':
      return link(proof, finishing)
    case 'reauthenticate':
      return reauthenticate(proof, finishing)
  }
}

async function signIn(proof: Proof, { flow, provider, context, settings }: Finishing): Promise<Finished> {
  const { person, tokens, acr } = proof
  const now = context.config.now()
  const { secondFactors, database } = context
  const newUserId = crypto.randomUUID()
  const findUserId = async () => (await findUser(database.db, { person, provider })) ?? newUserId
  const storeTokens = await encryptTokensOf(tokens, { provider, context, findUserId })
  const signingIn = context.change(async (trx, record) => {
    const found = await findOrCreateAccount(trx, record, { person, provider, secondFactors, newUserId, now })
    await lockAccount(trx, found)
    await storeTokens(found, trx)
    return found
  })
  const account = await signingIn.catch(recordBan(findUserId, context))
  const { userId } = account
  if (account.isLinked)
    sendNotice({ kind: 'account-linked', provider: provider.id }, { userId, context, settings })
  const methods = ['oauth', ...proof.amr]
  const { codeChallenge } = flow
  if (codeChallenge !== null) return redirectToApp({ account, methods, acr, codeChallenge, flow }, context)
  const { cookies } = await beginSession(userId, context, {
    amr: methods,
    acr,
    rememberMe: Boolean(flow.remembered),
    unknownBrowser: account.isNew ? 'remember' : 'report',
    authorize: (trx) => requireAccount(trx, account),
  })
  return { redirect: flow.redirectTo, cookies }
}

async function link(proof: Proof, { flow, provider, context, settings }: Finishing): Promise<Finished> {
  const { person, tokens } = proof
  const caller = await resumeSession(flow, context)
  const { userId } = caller.identity
  const now = context.config.now()
  const storeTokens = await encryptTokensOf(tokens, { provider, context, findUserId: async () => userId })
  const work = async (trx: AuthTransaction, record: RecordEvent) => {
    await requireSecondFactor(caller, trx)
    const known = await findAccount(trx, { provider, ...person })
    if (known !== undefined && known.userId !== userId) throw oauthError('ACCOUNT_TAKEN')
    await requireOwnEmail(trx, record, { userId, person, provider, now })
    await forgetUnlinked(trx, { userId, provider: provider.id })
    const linked = known ?? (await insertAccount(trx, record, { userId, person, provider, now }))
    // Inside the transaction: a failure after it would lose the session's new credentials.
    await storeTokens(linked, trx)
  }
  const { cookies } = await renewSession(caller, { cause: 'factor-added', work })
  sendNotice({ kind: 'account-linked', provider: provider.id }, { userId, context, settings })
  return { redirect: flow.redirectTo, cookies }
}

/**
 * Rejects a user who hasn't proved that the email of the account is theirs: the owner of the address could
 * take the account over later with a password reset, and this provider would still let the first one in.
 */
async function requireOwnEmail(
  trx: AuthTransaction,
  record: RecordEvent,
  { userId, person, provider, now }: { userId: string; person: Person; provider: Provider; now: Date },
): Promise<void> {
  const user = await selectUser(trx, { id: userId }).select('emailVerified').executeTakeFirst()
  if (user === undefined) throw new AuthError('SESSION_NOT_FOUND')
  if (user.emailVerified) return
  const { email } = user
  if (!provesEmail(person, provider) || person.email !== email) throw oauthError('PROVIDER_EMAIL_UNVERIFIED')
  const verified = { emailVerified: true, updatedAt: now }
  await trx.updateTable('user').set(verified).where('id', '=', userId).execute()
  record({ type: 'user.verified', userId, actorId: null, email, at: now })
}

async function reauthenticate(proof: Proof, { flow, provider, context }: Finishing): Promise<Finished> {
  const begunAt = Math.floor(new Date(flow.createdAt).getTime() / 1000)
  // Some providers ignore `max_age` and `prompt`, and return a sign-in of last week.
  if (proof.authTime === null || proof.authTime < begunAt - CLOCK_TOLERANCE_SECONDS)
    throw oauthError('REAUTHENTICATION_UNSUPPORTED')
  const methods = ['oauth', ...proof.amr]
  const { codeChallenge } = flow
  if (codeChallenge !== null) {
    const account = await findAccount(context.database.db, { provider, ...proof.person })
    if (account === undefined || account.userId !== flow.userId) throw oauthError('ACCOUNT_MISMATCH')
    return redirectToApp({ account, methods, acr: null, codeChallenge, flow }, context)
  }
  const caller = await resumeSession(flow, context)
  const work = async (trx: AuthTransaction) => {
    const account = await findAccount(trx, { provider, ...proof.person })
    if (account?.userId !== caller.identity.userId) throw oauthError('ACCOUNT_MISMATCH')
  }
  const { cookies } = await renewSession(caller, { cause: 'reauthenticated', methods, work })
  return { redirect: flow.redirectTo, cookies }
}
