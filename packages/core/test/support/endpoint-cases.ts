import type { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { TEST_PASSWORD, type TestAuth, type TestSession } from '@sallyport/core/testing'
import { withOwnTables as withAnonymousUsers } from '../../src/plugins/anonymous/tables.ts'
import { withOwnTables as withUsernames } from '../../src/plugins/email-password/tables.ts'
import { EMAIL_CODE_COOKIE, insertEmailCode } from './insert-email-code.ts'
import { insertLink } from './insert-link.ts'
import { insertOauthAccount, insertOauthCode } from './insert-oauth.ts'
import { insertInvitation, insertOrganization } from './insert-organization.ts'
import { insertAssertion, insertAttestation, insertPasskey, PASSKEY_COOKIE } from './insert-passkey.ts'
import { insertChallenge, insertTotp, type TotpAuth } from './insert-totp.ts'
import type { MadeUser } from './user-maker.ts'

/** A user with a browser that has just signed in. */
export interface Person extends TestSession, MadeUser {}

/** The users: `root` is an admin, the others are not. */
export interface Scene {
  readonly auth: TotpAuth
  readonly ada: Person
  readonly bob: Person
  readonly root: Person
}

type SceneAuth = TotpAuth & Pick<TestAuth, 'createUser' | 'signIn'>

export async function createPerson(auth: SceneAuth, role = 'user'): Promise<Person> {
  const user = await auth.createUser({ role })
  return { ...user, ...(await auth.signIn(user)) }
}

export async function createScene(auth: SceneAuth): Promise<Scene> {
  return {
    auth,
    ada: await createPerson(auth),
    bob: await createPerson(auth),
    root: await createPerson(auth, 'admin'),
  }
}

type Input = Record<string, unknown>

/** The state of the caller, or the fault of the call. */
export type Situation =
  | 'anonymous'
  | 'user'
  /** Bob targets Ada. */
  | 'other user'
  | 'admin'
  | 'signed in long ago'
  | 'banned'
  | 'signed out'
  | 'expired session'
  | 'expired JWT'
  | 'session cookie alone'
  | 'cross-site'
  | 'malformed'
  | 'extra fields'
  | 'database down'
  | 'database down once authorized'

/** The responses of an endpoint in every situation. */
export interface EndpointCase {
  /** The caller of a valid call. Calls by other users are rejected, or act on those users. */
  readonly caller: 'ada' | 'root'
  /** The input of a valid call. */
  readonly input: (scene: Scene) => Input | Promise<Input>
  /** A cookie of the browser beside those of its session, in all calls. @default none */
  readonly browserCookie?: string
  /** How Bob targets Ada. */
  readonly aim: (scene: Scene) => Aim | Promise<Aim>
  /** Tables of proofs that work once, also if the call is rejected for another reason. @default none */
  readonly usesUp?: readonly string[]
  /** The cookies that a successful call changes. @default nothing */
  readonly cookies?: { readonly set: readonly string[]; readonly cleared: readonly string[] }
  /** Status, and the code of a rejection. */
  readonly answers: Readonly<Record<Situation, string>>
}

interface Aim {
  readonly input: Input
  /** @default Bob's */
  readonly cookie?: string
}

const FOR_USERS = {
  anonymous: '401 TOKEN_MISSING',
  user: '200',
  'other user': '401 TOKEN_INVALID',
  admin: '200',
  'signed in long ago': '200',
  banned: '403 ACCOUNT_BANNED',
  'signed out': '401 SESSION_NOT_FOUND',
  'expired session': '401 SESSION_EXPIRED',
  'expired JWT': '401 TOKEN_EXPIRED',
  'session cookie alone': '401 TOKEN_MISSING',
  'cross-site': '403 ORIGIN_REJECTED',
  malformed: '400 INVALID_INPUT',
  'extra fields': '400 INVALID_INPUT',
  'database down': '503 SESSIONS_UNAVAILABLE',
  'database down once authorized': '503 SESSIONS_UNAVAILABLE',
} satisfies Record<Situation, string>

const FOR_FRESH_USERS = { ...FOR_USERS, 'signed in long ago': '403 SESSION_NOT_FRESH' }

/** A GET without fields ignores the query: it is always about the caller. */
const READS_ABOUT_CALLER = { ...FOR_USERS, 'extra fields': '200' }

const FOR_ADMINS = { ...FOR_USERS, user: '403 ROLE_REQUIRED', 'other user': '403 ROLE_REQUIRED' }

const FOR_FRESH_ADMINS = { ...FOR_ADMINS, 'signed in long ago': '403 SESSION_NOT_FRESH' }

/** About Ada's organization, which other users can't see. */
const FOR_MEMBERS = {
  ...FOR_USERS,
  admin: '404 ORGANIZATION_NOT_FOUND',
  'other user': '404 ORGANIZATION_NOT_FOUND',
}

/** Open to every caller, with a session in any state. */
const FOR_ANYONE = {
  ...FOR_USERS,
  anonymous: '200',
  banned: '200',
  'signed out': '200',
  'expired session': '200',
  'expired JWT': '200',
  'session cookie alone': '200',
}

const nothing = () => ({})
const both = ['service.jwt', 'service.session']
/** With those by which `emailPassword()` and `emailCode()` know the browser. */
const signedIn = [...both, 'service.device', 'service.device-email']

const BEGIN_OAUTH = { provider: 'acme', redirectTo: '/home' }

/**
 * Returns cookies that target Ada: Bob's JWT with a session cookie that names her session. Without a target
 * in the input, only cookies can.
 */
function mixedCookie({ ada, bob }: Scene): string {
  return `service.jwt=${bob.token}; service.session=${ada.sessionId}.${bob.sessionCookie.split('.')[1]}`
}

const byCookie =
  (input: Input = {}) =>
  (scene: Scene) => ({ input, cookie: mixedCookie(scene) })

/** Inserts an organization that Ada owns. */
async function ownedByAda({ auth, ada }: Scene): Promise<{ organizationId: string }> {
  const { organizationId } = await insertOrganization(auth, { [ada.userId]: 'owner' })
  return { organizationId }
}

/** Inserts one with Root as a member, who is the target. */
async function withMember({ auth, ada, root }: Scene): Promise<{ organizationId: string; userId: string }> {
  const members = { [ada.userId]: 'owner', [root.userId]: 'member' }
  const { organizationId } = await insertOrganization(auth, members)
  return { organizationId, userId: root.userId }
}

/** Inserts an invitation of Ada by Bob. */
async function invitationOfAda({ auth, ada, bob }: Scene): Promise<{ token: string }> {
  const { organizationId } = await insertOrganization(auth, { [bob.userId]: 'owner' })
  const invitation = { organizationId, inviterId: bob.userId, email: ada.email }
  const { token } = await insertInvitation(auth, invitation)
  return { token }
}

/** Inserts an invitation by Ada to an address without an account. */
async function invitationByAda(scene: Scene): Promise<{ organizationId: string; invitationId: string }> {
  const { organizationId } = await ownedByAda(scene)
  const inviterId = scene.ada.userId
  const { invitationId } = await insertInvitation(scene.auth, {
    organizationId,
    inviterId,
    email: 'eve@example.com',
  })
  return { organizationId, invitationId }
}

/** Sets up an authenticator app for the users who may make the call, and returns its code. */
function withTotp({ auth, ada, root }: Scene): Promise<{ code: string }> {
  return insertTotp(auth, [ada.userId, root.userId])
}

/** Adds a passkey to Ada, and returns its response in her session. */
function assertionOfAda({ auth, ada: { userId, sessionId } }: Scene): Promise<Input> {
  return insertAssertion(auth, { userId, purpose: 'reauthenticate', sessionIds: [sessionId] })
}

/** Adds a passkey to Ada. */
async function passkeyOfAda({ auth, ada: { userId } }: Scene): Promise<{ id: string }> {
  const { id } = await insertPasskey(auth, userId)
  return { id }
}

/** Returns the response of a new passkey in the sessions of the users who may make the call. */
async function newPasskey({ auth, ada, root }: Scene): Promise<Input> {
  const { userId } = ada
  const created = await insertAttestation(auth, { userId, sessionIds: [ada.sessionId, root.sessionId] })
  return { ...created, name: 'Phone' }
}

/** Inserts a code for Ada, who has verified her address. */
async function emailCodeOfAda({ auth, ada: { userId, email } }: Scene): Promise<Input> {
  await auth.db.updateTable('user').set({ emailVerified: true }).where('id', '=', userId).execute()
  return insertEmailCode(auth, email)
}

/** Takes the way to sign in from the users who may make the call. */
async function makeAnonymous({ auth, ada, root }: Scene): Promise<void> {
  const ids = [ada.userId, root.userId]
  const users = withAnonymousUsers(auth.db).updateTable('user').set({ isAnonymous: true })
  await users.where('id', 'in', ids).execute()
  await auth.db.deleteFrom('account').where('userId', 'in', ids).execute()
}

/** Links accounts at a provider to the users who may make the call. */
async function atProvider({ auth, ada, root }: Scene): Promise<Input> {
  for (const { userId } of [ada, root]) await insertOauthAccount(auth, userId)
  return BEGIN_OAUTH
}

/** Sends Ada's input as Bob. */
const likeAda = (input: (scene: Scene) => Promise<Input>) => async (scene: Scene) => ({
  input: await input(scene),
})

const ofAda = ({ ada: { userId } }: Scene) => ({ userId })

/** Every endpoint in every situation. */
export const ENDPOINT_CASES: Readonly<Record<keyof typeof ENDPOINTS, EndpointCase>> = {
  signOut: {
    caller: 'ada',
    input: nothing,
    aim: byCookie(),
    cookies: { set: [], cleared: both },
    answers: { ...FOR_ANYONE, 'other user': '200' },
  },
  token: {
    caller: 'ada',
    input: nothing,
    aim: byCookie(),
    cookies: { set: ['service.jwt'], cleared: [] },
    answers: {
      ...READS_ABOUT_CALLER,
      anonymous: '401 SESSION_NOT_FOUND',
      'other user': '401 SESSION_NOT_FOUND',
      'expired JWT': '200',
      'session cookie alone': '200',
      // Reads the session, and writes only if there is something to extend.
      'database down once authorized': '200',
    },
  },
  jwks: {
    caller: 'ada',
    input: nothing,
    aim: byCookie(),
    answers: {
      ...FOR_ANYONE,
      'other user': '200',
      'cross-site': '200',
      'extra fields': '200',
      'database down': '200',
      'database down once authorized': '200',
    },
  },
  getSession: { caller: 'ada', input: nothing, aim: byCookie(), answers: READS_ABOUT_CALLER },
  listSessions: { caller: 'ada', input: nothing, aim: byCookie(), answers: READS_ABOUT_CALLER },
  revokeSession: {
    caller: 'ada',
    input: ({ ada: { sessionId } }) => ({ sessionId }),
    aim: ({ ada: { sessionId } }) => ({ input: { sessionId } }),
    answers: { ...FOR_USERS, 'other user': '200' },
  },
  revokeOtherSessions: { caller: 'ada', input: nothing, aim: byCookie(), answers: FOR_USERS },
  revokeSessions: {
    caller: 'ada',
    input: nothing,
    aim: byCookie(),
    cookies: { set: [], cleared: both },
    answers: FOR_USERS,
  },
  revokeCopies: {
    caller: 'ada',
    input: nothing,
    aim: byCookie(),
    cookies: { set: both, cleared: [] },
    answers: FOR_FRESH_USERS,
  },
  updateUser: {
    caller: 'ada',
    input: () => ({ name: 'Countess' }),
    aim: ({ ada: { userId } }) => ({ input: { id: userId, name: 'Eve' } }),
    answers: { ...FOR_USERS, 'other user': '400 INVALID_INPUT' },
  },
  deleteUser: {
    caller: 'ada',
    input: nothing,
    aim: byCookie(),
    cookies: { set: [], cleared: both },
    // The only admin.
    answers: { ...FOR_FRESH_USERS, admin: '409 LAST_ADMIN' },
  },
  signUpEmail: {
    caller: 'ada',
    input: () => ({ name: 'Ada', email: `${crypto.randomUUID()}@example.com`, password: 'a rare password' }),
    aim: ({ ada: { email } }) => ({ input: { name: 'Eve', email, password: 'a rare password' } }),
    cookies: { set: signedIn, cleared: [] },
    answers: { ...FOR_ANYONE, 'other user': '409 EMAIL_TAKEN' },
  },
  signInEmail: {
    caller: 'ada',
    input: ({ ada: { email } }) => ({ email, password: TEST_PASSWORD }),
    aim: ({ ada: { email } }) => ({ input: { email, password: 'not her password' } }),
    cookies: { set: signedIn, cleared: [] },
    answers: {
      ...FOR_ANYONE,
      'other user': '401 INVALID_CREDENTIALS',
      banned: '403 ACCOUNT_BANNED',
    },
  },
  reauthenticate: {
    caller: 'ada',
    input: () => ({ password: TEST_PASSWORD }),
    aim: byCookie({ password: TEST_PASSWORD }),
    cookies: { set: both, cleared: [] },
    answers: FOR_USERS,
  },
  changePassword: {
    caller: 'ada',
    input: () => ({ currentPassword: TEST_PASSWORD, newPassword: 'another rare password' }),
    aim: byCookie({ currentPassword: TEST_PASSWORD, newPassword: 'another rare password' }),
    cookies: { set: both, cleared: [] },
    answers: FOR_USERS,
  },
  requestPasswordReset: {
    caller: 'ada',
    input: ({ ada: { email } }) => ({ email }),
    aim: ({ ada: { email } }) => ({ input: { email } }),
    answers: { ...FOR_ANYONE, 'other user': '200' },
  },
  resetPassword: {
    caller: 'ada',
    input: async ({ auth, ada }) => ({
      token: await insertLink(auth, { kind: 'reset-password', ...ada }),
      newPassword: 'another rare password',
    }),
    // One of Ada's links, for another purpose.
    aim: async ({ auth, ada }) => ({
      input: {
        token: await insertLink(auth, { kind: 'verify-email', ...ada }),
        newPassword: 'another rare password',
      },
    }),
    answers: { ...FOR_ANYONE, 'other user': '400 LINK_INVALID' },
  },
  sendVerificationEmail: {
    caller: 'ada',
    input: nothing,
    aim: byCookie(),
    answers: FOR_USERS,
  },
  verifyEmail: {
    caller: 'ada',
    input: async ({ auth, ada }) => ({
      token: await insertLink(auth, { kind: 'verify-email', ...ada }),
      password: TEST_PASSWORD,
    }),
    aim: async ({ auth, ada }) => ({
      input: { token: await insertLink(auth, { kind: 'reset-password', ...ada }) },
    }),
    // Set if the address changes, and not if the current address is verified.
    cookies: { set: [], cleared: [] },
    answers: { ...FOR_ANYONE, 'other user': '400 LINK_INVALID' },
  },
  changeEmail: {
    caller: 'ada',
    input: () => ({ newEmail: `${crypto.randomUUID()}@example.com` }),
    aim: ({ ada: { email } }) => ({ input: { newEmail: email } }),
    answers: { ...FOR_FRESH_USERS, 'other user': '200' },
  },
  undoEmailChange: {
    caller: 'ada',
    input: async ({ auth, ada }) => ({
      token: await insertLink(auth, { kind: 'undo-email-change', ...ada }),
    }),
    aim: async ({ auth, ada }) => ({
      input: { token: await insertLink(auth, { kind: 'verify-email', ...ada }) },
    }),
    answers: { ...FOR_ANYONE, 'other user': '400 LINK_INVALID' },
  },
  listUsers: { caller: 'root', input: nothing, aim: atAda, answers: FOR_ADMINS },
  listUserSessions: { caller: 'root', input: ofAda, aim: atAda, answers: FOR_ADMINS },
  listUserFactors: { caller: 'root', input: ofAda, aim: atAda, answers: FOR_ADMINS },
  revokeUserSession: {
    caller: 'root',
    input: ({ ada: { sessionId } }) => ({ sessionId }),
    aim: ({ ada: { sessionId } }) => ({ input: { sessionId } }),
    answers: FOR_ADMINS,
  },
  revokeUserSessions: { caller: 'root', input: ofAda, aim: atAda, answers: FOR_ADMINS },
  listAudit: { caller: 'root', input: ofAda, aim: atAda, answers: FOR_FRESH_ADMINS },
  banUser: { caller: 'root', input: ofAda, aim: atAda, answers: FOR_FRESH_ADMINS },
  unbanUser: { caller: 'root', input: ofAda, aim: atAda, answers: FOR_FRESH_ADMINS },
  getUsername: { caller: 'ada', input: nothing, aim: byCookie(), answers: READS_ABOUT_CALLER },
  changeUsername: {
    caller: 'ada',
    input: () => ({ username: newUsername() }),
    aim: async ({ auth, ada: { userId } }) => {
      const username = newUsername()
      await withUsernames(auth.db).insertInto('username').values({ userId, username }).execute()
      return { input: { username } }
    },
    answers: { ...FOR_FRESH_USERS, 'other user': '409 USERNAME_TAKEN' },
  },
  signInTotp: {
    caller: 'ada',
    input: async (scene) => ({
      ...(await withTotp(scene)),
      challenge: await insertChallenge(scene.auth, scene.ada.userId),
    }),
    // Bob has a code, but no challenge of Ada.
    aim: async ({ auth, bob }) => ({
      input: { ...(await insertTotp(auth, [bob.userId])), challenge: 'unknown' },
    }),
    cookies: { set: signedIn, cleared: [] },
    answers: { ...FOR_ANYONE, 'other user': '400 CHALLENGE_INVALID', banned: '403 ACCOUNT_BANNED' },
  },
  reauthenticateTotp: {
    caller: 'ada',
    input: withTotp,
    aim: byCookie({ code: '000000' }),
    cookies: { set: both, cleared: [] },
    answers: FOR_USERS,
  },
  getTotp: { caller: 'ada', input: nothing, aim: byCookie(), answers: READS_ABOUT_CALLER },
  enableTotp: { caller: 'ada', input: nothing, aim: byCookie(), answers: FOR_FRESH_USERS },
  confirmTotp: {
    caller: 'ada',
    input: ({ auth, ada, root }) => insertTotp(auth, [ada.userId, root.userId], { isConfirmed: false }),
    aim: byCookie({ code: '000000' }),
    cookies: { set: both, cleared: [] },
    answers: FOR_FRESH_USERS,
  },
  disableTotp: {
    caller: 'ada',
    input: withTotp,
    aim: byCookie({ code: '000000' }),
    cookies: { set: both, cleared: [] },
    answers: FOR_FRESH_USERS,
  },
  createRecoveryCodes: {
    caller: 'ada',
    input: withTotp,
    aim: byCookie({ code: '000000' }),
    cookies: { set: both, cleared: [] },
    answers: FOR_FRESH_USERS,
  },
  createPasskeySignInOptions: {
    caller: 'ada',
    input: nothing,
    aim: byCookie(),
    cookies: { set: ['service.device-passkey'], cleared: [] },
    answers: { ...FOR_ANYONE, 'other user': '200' },
  },
  signInPasskey: {
    caller: 'ada',
    input: ({ auth, ada: { userId } }) =>
      insertAssertion(auth, { userId, purpose: 'sign-in', sessionIds: [null] }),
    browserCookie: PASSKEY_COOKIE,
    // The response to a challenge that was for her session.
    aim: likeAda(assertionOfAda),
    cookies: { set: signedIn, cleared: [] },
    usesUp: ['passkeyChallenge', 'passkeyCredential'],
    answers: { ...FOR_ANYONE, 'other user': '400 PASSKEY_TIMEOUT', banned: '403 ACCOUNT_BANNED' },
  },
  createPasskeyReauthenticationOptions: {
    caller: 'ada',
    input: async ({ auth, ada, root }) => {
      for (const { userId } of [ada, root]) await insertPasskey(auth, userId)
      return {}
    },
    aim: byCookie(),
    cookies: { set: ['service.device-passkey'], cleared: [] },
    answers: FOR_USERS,
  },
  reauthenticatePasskey: {
    caller: 'ada',
    input: assertionOfAda,
    browserCookie: PASSKEY_COOKIE,
    aim: likeAda(assertionOfAda),
    cookies: { set: both, cleared: [] },
    answers: { ...FOR_USERS, admin: '400 PASSKEY_TIMEOUT', 'other user': '400 PASSKEY_TIMEOUT' },
  },
  createPasskeyOptions: {
    caller: 'ada',
    input: nothing,
    aim: byCookie(),
    cookies: { set: ['service.device-passkey'], cleared: [] },
    answers: FOR_FRESH_USERS,
  },
  addPasskey: {
    caller: 'ada',
    input: newPasskey,
    browserCookie: PASSKEY_COOKIE,
    aim: likeAda(newPasskey),
    cookies: { set: both, cleared: [] },
    answers: { ...FOR_FRESH_USERS, 'other user': '400 PASSKEY_TIMEOUT' },
  },
  listPasskeys: { caller: 'ada', input: nothing, aim: byCookie(), answers: READS_ABOUT_CALLER },
  renamePasskey: {
    caller: 'ada',
    input: async (scene) => ({ ...(await passkeyOfAda(scene)), name: 'Desktop' }),
    aim: likeAda(async (scene) => ({ ...(await passkeyOfAda(scene)), name: 'Desktop' })),
    answers: { ...FOR_USERS, admin: '404 PASSKEY_NOT_FOUND', 'other user': '404 PASSKEY_NOT_FOUND' },
  },
  removePasskey: {
    caller: 'ada',
    input: passkeyOfAda,
    aim: likeAda(passkeyOfAda),
    cookies: { set: both, cleared: [] },
    answers: { ...FOR_FRESH_USERS, admin: '404 PASSKEY_NOT_FOUND', 'other user': '404 PASSKEY_NOT_FOUND' },
  },
  requestEmailCode: {
    caller: 'ada',
    input: ({ ada: { email } }) => ({ email }),
    aim: ({ ada: { email } }) => ({ input: { email } }),
    cookies: { set: ['service.device-email-code'], cleared: [] },
    answers: { ...FOR_ANYONE, 'other user': '200' },
  },
  signInEmailCode: {
    caller: 'ada',
    input: emailCodeOfAda,
    browserCookie: EMAIL_CODE_COOKIE,
    // Bob's browser has requested the code, but he doesn't get Ada's mail.
    aim: async (scene) => ({ input: { ...(await emailCodeOfAda(scene)), code: 'BBBBBBBB' } }),
    cookies: { set: signedIn, cleared: ['service.device-email-code'] },
    usesUp: ['emailCode'],
    answers: { ...FOR_ANYONE, 'other user': '400 EMAIL_CODE_INVALID', banned: '403 ACCOUNT_BANNED' },
  },
  reauthenticateEmailCode: {
    caller: 'ada',
    input: emailCodeOfAda,
    browserCookie: EMAIL_CODE_COOKIE,
    // Not even with her code.
    aim: likeAda(emailCodeOfAda),
    cookies: { set: both, cleared: ['service.device-email-code'] },
    usesUp: ['emailCode'],
    answers: { ...FOR_USERS, admin: '400 EMAIL_CODE_INVALID', 'other user': '400 EMAIL_CODE_INVALID' },
  },
  signInAnonymous: {
    caller: 'ada',
    input: nothing,
    aim: byCookie(),
    cookies: { set: both, cleared: [] },
    // Would lose its user.
    answers: {
      ...FOR_ANYONE,
      user: '409 ALREADY_SIGNED_IN',
      'other user': '200',
      admin: '409 ALREADY_SIGNED_IN',
      'signed in long ago': '409 ALREADY_SIGNED_IN',
      banned: '409 ALREADY_SIGNED_IN',
      'expired JWT': '409 ALREADY_SIGNED_IN',
      'session cookie alone': '409 ALREADY_SIGNED_IN',
    },
  },
  reauthenticateAnonymous: {
    caller: 'ada',
    input: async (scene) => {
      await makeAnonymous(scene)
      return {}
    },
    aim: byCookie(),
    cookies: { set: both, cleared: [] },
    answers: FOR_USERS,
  },
  upgradeAnonymous: {
    caller: 'ada',
    input: async (scene) => {
      await makeAnonymous(scene)
      return { name: 'Ada', email: newAddress(), password: 'a rare password' }
    },
    // Bob isn't anonymous.
    aim: ({ ada: { email } }) => ({ input: { name: 'Eve', email, password: 'a rare password' } }),
    cookies: { set: signedIn, cleared: [] },
    answers: { ...FOR_USERS, 'other user': '409 NOT_ANONYMOUS' },
  },
  signInOauth: {
    caller: 'ada',
    input: () => BEGIN_OAUTH,
    aim: byCookie(BEGIN_OAUTH),
    cookies: { set: ['service.oauth'], cleared: [] },
    answers: { ...FOR_ANYONE, 'other user': '200' },
  },
  signInOauthCode: {
    caller: 'ada',
    input: ({ auth, ada: { userId } }) => insertOauthCode(auth, userId),
    // Bob has got the deep link, but not the verifier.
    aim: async ({ auth, ada: { userId } }) => ({
      input: { ...(await insertOauthCode(auth, userId)), codeVerifier: 'A'.repeat(43) },
    }),
    cookies: { set: signedIn, cleared: [] },
    usesUp: ['oauthCode'],
    answers: { ...FOR_ANYONE, 'other user': '400 SIGN_IN_EXPIRED', banned: '403 ACCOUNT_BANNED' },
  },
  reauthenticateOauth: {
    caller: 'ada',
    input: atProvider,
    aim: likeAda(atProvider),
    cookies: { set: ['service.oauth'], cleared: [] },
    answers: { ...FOR_USERS, 'other user': '404 ACCOUNT_NOT_FOUND' },
  },
  reauthenticateOauthCode: {
    caller: 'ada',
    input: ({ auth, ada: { userId, sessionId } }) => insertOauthCode(auth, userId, sessionId),
    aim: likeAda(({ auth, ada: { userId, sessionId } }) => insertOauthCode(auth, userId, sessionId)),
    cookies: { set: both, cleared: [] },
    usesUp: ['oauthCode'],
    answers: { ...FOR_USERS, admin: '400 SIGN_IN_EXPIRED', 'other user': '400 SIGN_IN_EXPIRED' },
  },
  linkAccount: {
    caller: 'ada',
    input: () => BEGIN_OAUTH,
    aim: byCookie(BEGIN_OAUTH),
    cookies: { set: ['service.oauth'], cleared: [] },
    answers: FOR_FRESH_USERS,
  },
  listAccounts: { caller: 'ada', input: nothing, aim: byCookie(), answers: READS_ABOUT_CALLER },
  unlinkAccount: {
    caller: 'ada',
    input: ({ auth, ada: { userId } }) => insertOauthAccount(auth, userId),
    aim: likeAda(({ auth, ada: { userId } }) => insertOauthAccount(auth, userId)),
    cookies: { set: both, cleared: [] },
    answers: { ...FOR_FRESH_USERS, admin: '404 ACCOUNT_NOT_FOUND', 'other user': '404 ACCOUNT_NOT_FOUND' },
  },
  resetUserFactors: {
    caller: 'root',
    input: ({ ada: { userId } }) => ({ userId, reason: 'Lost phone' }),
    aim: ({ ada: { userId } }) => ({ input: { userId, reason: 'Lost phone' } }),
    answers: FOR_FRESH_ADMINS,
  },
  setRole: {
    caller: 'root',
    input: ({ ada: { userId } }) => ({ userId, role: 'admin' }),
    aim: ({ ada: { userId } }) => ({ input: { userId, role: 'admin' } }),
    answers: FOR_FRESH_ADMINS,
  },
  createOrganization: {
    caller: 'ada',
    input: () => ({ name: 'Acme' }),
    aim: async ({ auth, ada }) => {
      const { slug } = await insertOrganization(auth, { [ada.userId]: 'owner' })
      return { input: { name: 'Acme', slug } }
    },
    answers: { ...FOR_USERS, 'other user': '409 SLUG_TAKEN' },
  },
  listOrganizations: { caller: 'ada', input: nothing, aim: byCookie(), answers: READS_ABOUT_CALLER },
  updateOrganization: {
    caller: 'ada',
    input: async (scene) => ({ ...(await ownedByAda(scene)), name: 'Emca' }),
    aim: likeAda(async (scene) => ({ ...(await ownedByAda(scene)), name: 'Emca' })),
    answers: FOR_MEMBERS,
  },
  deleteOrganization: {
    caller: 'ada',
    input: ownedByAda,
    aim: likeAda(ownedByAda),
    answers: { ...FOR_MEMBERS, 'signed in long ago': '403 SESSION_NOT_FRESH' },
  },
  setActiveOrganization: {
    caller: 'ada',
    input: ownedByAda,
    aim: likeAda(ownedByAda),
    answers: FOR_MEMBERS,
  },
  inviteMember: {
    caller: 'ada',
    input: async (scene) => ({ ...(await ownedByAda(scene)), email: newAddress(), role: 'member' }),
    aim: likeAda(async (scene) => ({ ...(await ownedByAda(scene)), email: newAddress(), role: 'member' })),
    answers: FOR_MEMBERS,
  },
  acceptInvitation: {
    caller: 'ada',
    input: invitationOfAda,
    aim: likeAda(invitationOfAda),
    answers: {
      ...FOR_USERS,
      admin: '403 INVITATION_FOR_ANOTHER',
      'other user': '403 INVITATION_FOR_ANOTHER',
    },
  },
  cancelInvitation: {
    caller: 'ada',
    input: invitationByAda,
    aim: likeAda(invitationByAda),
    answers: FOR_MEMBERS,
  },
  listInvitations: { caller: 'ada', input: ownedByAda, aim: likeAda(ownedByAda), answers: FOR_MEMBERS },
  listMembers: { caller: 'ada', input: ownedByAda, aim: likeAda(ownedByAda), answers: FOR_MEMBERS },
  setMemberRole: {
    caller: 'ada',
    input: async (scene) => ({ ...(await withMember(scene)), role: 'admin' }),
    aim: likeAda(async (scene) => ({ ...(await ownedByAda(scene)), ...ofAda(scene), role: 'member' })),
    answers: { ...FOR_MEMBERS, admin: '403 ROLE_REQUIRED' },
  },
  removeMember: {
    caller: 'ada',
    input: withMember,
    aim: likeAda(async (scene) => ({ ...(await ownedByAda(scene)), ...ofAda(scene) })),
    answers: { ...FOR_MEMBERS, admin: '200' },
  },
}

function newAddress(): string {
  return `${crypto.randomUUID()}@example.com`
}

function newUsername(): string {
  return `user-${crypto.randomUUID().slice(0, 13)}`
}

function atAda(scene: Scene): Aim {
  return { input: ofAda(scene) }
}
