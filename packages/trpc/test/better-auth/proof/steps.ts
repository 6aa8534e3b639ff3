import * as z from 'zod'
import type { ProofApp } from './open-app.ts'
import { type Browser, openBrowser, PASSWORD, type Person, signIn, signUp } from './person.ts'

/** What a step may use. Steps change it. */
export interface Scene {
  readonly app: ProofApp
  /** The user's browser. */
  readonly page: Browser
  /** The user's other browser. */
  readonly other: Browser
  readonly admin: Person
  user: Person
  organizationId: string
}

/** Resolves to something falsy if Better Auth rejected it. */
type Step = (scene: Scene) => Promise<unknown>

const withUrl = z.object({ url: z.string() })
const withId = z.object({ id: z.string() })
const PROVIDER_CALLBACK = '/callback/provider'

const byHand = async ({ app }: Scene, sql: string) => {
  await app.run(sql)
  return true
}
const sessionsOf = ({ user }: Scene) => `where "userId" = '${user.userId}'`

export const STEPS = {
  'sign up': async (scene) => {
    scene.user = await signUp(scene.app, scene.page)
    return scene.user
  },
  'sign in': ({ page, user: { email } }) => page.post('/sign-in/email', { email, password: PASSWORD }),
  'sign in without being remembered': ({ page, user: { email } }) =>
    page.post('/sign-in/email', { email, password: PASSWORD, rememberMe: false }),
  'sign in elsewhere': ({ other, user: { email } }) =>
    other.post('/sign-in/email', { email, password: PASSWORD }),
  'sign out': ({ page }) => page.post('/sign-out'),
  'sign out elsewhere': ({ other }) => other.post('/sign-out'),
  'revoke the session': ({ page, user: { token } }) => page.post('/revoke-session', { token }),
  'revoke other sessions': ({ page }) => page.post('/revoke-other-sessions'),
  'revoke all sessions': ({ page }) => page.post('/revoke-sessions'),
  'change the password': ({ page }) =>
    page.post('/change-password', {
      currentPassword: PASSWORD,
      newPassword: PASSWORD,
      revokeOtherSessions: true,
    }),
  'rename the user': ({ page }) => page.post('/update-user', { name: 'Grace' }),
  'delete the user': ({ page }) => page.post('/delete-user'),

  'an admin bans': ({ admin, user: { userId } }) => admin.page.post('/admin/ban-user', { userId }),
  'an admin lifts the ban': ({ admin, user: { userId } }) => admin.page.post('/admin/unban-user', { userId }),
  'an admin sets the role': ({ admin, user: { userId } }) =>
    admin.page.post('/admin/set-role', { userId, role: 'admin' }),
  'an admin revokes the session': ({ admin, user: { token } }) =>
    admin.page.post('/admin/revoke-user-session', { sessionToken: token }),
  'an admin revokes the sessions': ({ admin, user: { userId } }) =>
    admin.page.post('/admin/revoke-user-sessions', { userId }),
  'an admin removes the user': ({ admin, user: { userId } }) =>
    admin.page.post('/admin/remove-user', { userId }),
  'an admin impersonates': ({ admin, user: { userId } }) =>
    admin.page.post('/admin/impersonate-user', { userId }),
  'the impersonation ends': ({ admin }) => admin.page.post('/admin/stop-impersonating'),

  'a row expires': (scene) =>
    byHand(scene, `update "session" set "expiresAt" = '2020-01-01T00:00:00.000Z' ${sessionsOf(scene)}`),
  'a row is deleted': (scene) => byHand(scene, `delete from "session" ${sessionsOf(scene)}`),
  'a renewal is due': (scene) => {
    const expiresAt = new Date(Date.now() + 5 * 86_400_000).toISOString()
    return byHand(scene, `update "session" set "expiresAt" = '${expiresAt}' ${sessionsOf(scene)}`)
  },
  'a ban by hand': (scene) =>
    byHand(scene, `update "user" set "banned" = true where "id" = '${scene.user.userId}'`),
  'a ban by hand ends': (scene) =>
    byHand(scene, `update "user" set "banned" = false where "id" = '${scene.user.userId}'`),

  'create an organization': async (scene) => {
    const slug = `of-${scene.user.userId}-${Date.now()}`.toLowerCase()
    const created = await scene.admin.page.post('/organization/create', { name: 'Acme', slug })
    if (created === null) return null
    scene.organizationId = withId.parse(created).id
    const { userId } = scene.user
    const body = { userId, organizationId: scene.organizationId, role: 'member' } as const
    // It throws if the user has been deleted.
    return scene.app.auth.api.addMember({ body }).catch(() => null)
  },
  'set the active organization': ({ page, organizationId }) =>
    page.post('/organization/set-active', { organizationId }),
  'leave the organization': ({ page, organizationId }) =>
    page.post('/organization/leave', { organizationId }),

  'add an account': async ({ app, page }) => signUp(app, page),
  'switch to the first account': ({ page, user: { token } }) =>
    page.post('/multi-session/set-active', { sessionToken: token }),
  'revoke the first account': ({ page, user: { token } }) =>
    page.post('/multi-session/revoke', { sessionToken: token }),

  'enable two factors': ({ page }) => page.post('/two-factor/enable', { password: PASSWORD }),
  'ask for the second factor': ({ page }) => page.post('/two-factor/send-otp'),
  'pass the second factor': ({ app, page, user: { email } }) =>
    page.post('/two-factor/verify-otp', { code: app.codes.get(email) }),
  'disable two factors': ({ page }) => page.post('/two-factor/disable', { password: PASSWORD }),

  'sign in with a provider': async ({ page, user: { email } }) => {
    const begun = await page.post('/sign-in/social', { provider: 'provider', callbackURL: '/' })
    if (begun === null) return null
    const state = new URL(withUrl.parse(begun).url).searchParams.get('state')
    return page.visit(
      `${PROVIDER_CALLBACK}?${new URLSearchParams({ code: `oauth-${email}`, state: state ?? '' })}`,
    )
  },
} satisfies Record<string, Step>

export type StepName = keyof typeof STEPS

/** In each story, Better Auth accepts every step. */
export const STORIES: readonly (readonly StepName[])[] = [
  ['sign up', 'a renewal is due', 'rename the user', 'sign out', 'sign in', 'a row expires'],
  ['sign up', 'sign in elsewhere', 'sign in', 'revoke other sessions', 'revoke all sessions'],
  ['sign up', 'sign in elsewhere', 'change the password', 'sign out elsewhere', 'a row is deleted'],
  ['sign up', 'revoke the session', 'sign in without being remembered', 'delete the user'],
  ['sign up', 'an admin bans', 'an admin lifts the ban', 'sign in', 'a ban by hand', 'a ban by hand ends'],
  [
    'sign up',
    'an admin sets the role',
    'an admin revokes the session',
    'sign in',
    'an admin removes the user',
  ],
  ['sign up', 'an admin impersonates', 'the impersonation ends', 'an admin revokes the sessions'],
  ['sign up', 'create an organization', 'set the active organization', 'leave the organization'],
  ['sign up', 'add an account', 'switch to the first account', 'revoke the first account'],
  [
    'sign up',
    'enable two factors',
    'sign out',
    'sign in',
    'ask for the second factor',
    'pass the second factor',
    'disable two factors',
  ],
  ['sign up', 'sign in with a provider', 'sign out', 'sign in with a provider', 'sign out'],
]

/** Signs an admin in, and opens the browsers of a user who isn't signed in. */
export async function openScene(app: ProofApp, adminEmail: string): Promise<Scene> {
  const admin = await signIn(app, adminEmail)
  const user = { email: '', userId: '', token: '', page: openBrowser(app) }
  return { app, page: user.page, other: openBrowser(app), admin, user, organizationId: '' }
}
