import {
  type Auth,
  type AuthDefinition,
  type AuthPlugin,
  createAuth,
  defineAuth,
  defineEndpoint,
} from '@sallyport/core/auth'
import type {
  ENDPOINTS,
  SessionResponse,
  TokenResponse,
  UserResponse,
} from '@sallyport/core/internal/protocol'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword, type UsernameEndpoints } from '@sallyport/core/plugins/email-password'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, describe, expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import { everyPasswordOption, startEveryPlugin } from '../support/every-plugin.ts'

const everyPlugin = await startEveryPlugin()

const countNotes = defineEndpoint({
  method: 'GET',
  path: '/notes/count',
  caller: 'user',
  input: z.strictObject({ since: z.string().exactOptional() }),
  output: z.object({ count: z.number() }),
  run: async (_input, { session }) => ({ body: { count: session.user.name.length } }),
})
const forgetMe = defineEndpoint({
  method: 'POST',
  path: '/notes/forget-me',
  caller: 'anyone',
  setsCookies: true,
  input: z.strictObject({ note: z.string() }),
  output: z.object({ forgotten: z.boolean() }),
  run: async () => ({ body: { forgotten: true }, cookies: ['note=; Max-Age=0'] }),
})
/** A third-party plugin. */
const notes = {
  id: 'notes',
  endpoints: { countNotes, forgetMe },
  userColumns: {
    locale: { schema: z.enum(['en', 'de']), default: 'en', input: true },
    credits: { type: 'number', schema: z.number(), default: 0 },
  },
} satisfies AuthPlugin
const themes = {
  id: 'themes',
  userColumns: { theme: { schema: z.string().nullable(), input: true } },
} satisfies AuthPlugin

const testAuth = await createTestAuth({ plugins: [notes, themes, ...everyPlugin] })
afterAll(() => testAuth.close())
const { api } = testAuth
type Api = typeof api

const request = async () => {
  const { cookie } = await testAuth.signIn()
  return new Request('http://localhost:3000/', { headers: { cookie, 'x-sallyport': '1' }, method: 'POST' })
}

/** The parameters of a method other than its request. */
type InputOf<Name extends keyof Api> = Omit<Parameters<Api[Name]>[0], 'request' | 'remoteAddress'>
type OutputOf<Name extends keyof Api> = Awaited<ReturnType<Api[Name]>>
/** The methods whose results include headers. */
type WithHeaders = {
  [Name in keyof Api]: OutputOf<Name> extends { headers: Headers } ? Name : never
}[keyof Api]

describe('auth.api', () => {
  test('has a method for every endpoint of core, of the plugins, and of third-party plugins', () => {
    expectTypeOf<keyof Api>().toEqualTypeOf<
      Exclude<keyof typeof ENDPOINTS, keyof UsernameEndpoints> | 'createSession' | 'countNotes' | 'forgetMe'
    >()
    expect(api).toHaveProperty('countNotes', expect.any(Function))
    expect(api).toHaveProperty('forgetMe', expect.any(Function))
  })

  test('has no methods of a missing plugin', async () => {
    const { config, signingKeys } = testAuth.definition
    const bare = defineAuth({ config, signingKeys })
    const withAdmin = defineAuth({ config, signingKeys, plugins: [admin()] })
    const all = defineAuth({
      config,
      signingKeys,
      plugins: [emailPassword(everyPasswordOption), admin(), ...everyPlugin],
    })
    type ApiOf<Definition> = Definition extends AuthDefinition<infer Plugins> ? Auth<Plugins>['api'] : never
    type Core =
      | 'signOut'
      | 'token'
      | 'jwks'
      | 'getSession'
      | 'listSessions'
      | 'revokeSession'
      | 'revokeOtherSessions'
      | 'revokeSessions'
      | 'revokeCopies'
      | 'updateUser'
      | 'deleteUser'
      | 'createSession'
    expectTypeOf<keyof ApiOf<typeof bare>>().toEqualTypeOf<Core>()
    expectTypeOf<Exclude<keyof ApiOf<typeof withAdmin>, Core>>().toEqualTypeOf<
      | 'listUsers'
      | 'listUserSessions'
      | 'listUserFactors'
      | 'listAudit'
      | 'revokeUserSession'
      | 'revokeUserSessions'
      | 'banUser'
      | 'unbanUser'
      | 'setRole'
      | 'resetUserFactors'
    >()
    expectTypeOf<keyof ApiOf<typeof all>>().toEqualTypeOf<keyof typeof ENDPOINTS | 'createSession'>()
    const { api } = await createAuth(bare, testAuth.database, { pruneEverySeconds: 0 })
    expectTypeOf(api).not.toHaveProperty('signInEmail')
    expect(api).not.toHaveProperty('signInEmail')
  })

  test('takes the input of an endpoint next to the request', async () => {
    expectTypeOf<InputOf<'signInEmail'>>().toEqualTypeOf<{
      email: string
      password: string
      rememberMe?: boolean
    }>()
    expectTypeOf<InputOf<'signUpEmail'>>().toEqualTypeOf<{
      name: string
      email: string
      password: string
      username?: string
      rememberMe?: boolean
    }>()
    expectTypeOf<InputOf<'revokeSession'>>().toEqualTypeOf<{ sessionId: string }>()
    expectTypeOf<keyof InputOf<'revokeOtherSessions'>>().toBeNever()
    expectTypeOf<InputOf<'changePassword'>>().toEqualTypeOf<{
      currentPassword: string
      newPassword: string
      revokeOtherSessions?: boolean
    }>()
    expectTypeOf<InputOf<'listUsers'>>().toEqualTypeOf<{ search?: string; limit?: number; cursor?: string }>()
    expectTypeOf<InputOf<'banUser'>>().toEqualTypeOf<{
      userId: string
      reason?: string
      expiresIn?: number
    }>()
    expectTypeOf<InputOf<'setRole'>>().toEqualTypeOf<{ userId: string; role: string }>()
    expectTypeOf<InputOf<'createSession'>>().toEqualTypeOf<{
      readonly userId: string
      readonly rememberMe?: boolean
      readonly amr?: readonly string[]
      readonly acr?: string | null
    }>()
    expectTypeOf<InputOf<'countNotes'>>().toEqualTypeOf<{ since?: string }>()
    const plain = await request()
    // @ts-expect-error a method requires a request
    await expect(api.getSession({})).rejects.toThrow()
    // @ts-expect-error and its input
    await expect(api.revokeSession({ request: plain })).rejects.toThrow()
    // @ts-expect-error with the declared types
    await expect(api.revokeSession({ request: plain, sessionId: 1 })).rejects.toThrow()
  })

  test('returns the output of an endpoint', () => {
    expectTypeOf<OutputOf<'listSessions'>>().toEqualTypeOf<{ sessions: SessionResponse[] }>()
    expectTypeOf<OutputOf<'revokeSession'>>().toEqualTypeOf<{ revoked: boolean }>()
    expectTypeOf<OutputOf<'revokeOtherSessions'>>().toEqualTypeOf<{ revoked: number }>()
    expectTypeOf<OutputOf<'banUser'>>().toEqualTypeOf<{ success: true }>()
    expectTypeOf<OutputOf<'signInEmail'>>().toExtend<TokenResponse & { readonly headers: Headers }>()
    expectTypeOf<OutputOf<'createSession'>>().toExtend<TokenResponse & { readonly headers: Headers }>()
    expectTypeOf<OutputOf<'countNotes'>>().toEqualTypeOf<{ count: number }>()
    expectTypeOf<OutputOf<'forgetMe'>>().toExtend<{ forgotten: boolean; readonly headers: Headers }>()
  })

  test('returns headers only if an endpoint may set cookies', async () => {
    expectTypeOf<WithHeaders>().toEqualTypeOf<
      | 'signOut'
      | 'token'
      | 'revokeSessions'
      | 'revokeCopies'
      | 'deleteUser'
      | 'signUpEmail'
      | 'signInEmail'
      | 'reauthenticate'
      | 'changePassword'
      | 'confirmTotp'
      | 'createRecoveryCodes'
      | 'disableTotp'
      | 'reauthenticateTotp'
      | 'signInTotp'
      | 'createPasskeySignInOptions'
      | 'signInPasskey'
      | 'createPasskeyReauthenticationOptions'
      | 'reauthenticatePasskey'
      | 'createPasskeyOptions'
      | 'addPasskey'
      | 'removePasskey'
      | 'requestEmailCode'
      | 'signInEmailCode'
      | 'reauthenticateEmailCode'
      | 'signInAnonymous'
      | 'reauthenticateAnonymous'
      | 'upgradeAnonymous'
      | 'signInOauth'
      | 'signInOauthCode'
      | 'reauthenticateOauth'
      | 'reauthenticateOauthCode'
      | 'linkAccount'
      | 'unlinkAccount'
      | 'verifyEmail'
      | 'createSession'
      | 'forgetMe'
    >()
    const { headers } = await api.forgetMe({ request: await request(), note: 'x' })
    expect(headers.getSetCookie()).toEqual(['note=; Max-Age=0'])
    expect(await api.countNotes({ request: await request() })).toEqual({ count: 'Test User'.length })
  })
})

describe('the columns that plugins add to a user', () => {
  type OwnUser = UserResponse & { readonly locale: 'en' | 'de'; readonly credits: number } & {
    readonly theme: string | null
  }

  test('are part of getSession', async () => {
    expectTypeOf<OutputOf<'getSession'>>().toExtend<{ session: SessionResponse; user: OwnUser }>()
    expectTypeOf<OutputOf<'getSession'>['user']['locale']>().toEqualTypeOf<'en' | 'de'>()
    expectTypeOf<OutputOf<'getSession'>['user']['credits']>().toEqualTypeOf<number>()
    expectTypeOf<OutputOf<'getSession'>['user']['theme']>().toEqualTypeOf<string | null>()
    expectTypeOf<OutputOf<'getSession'>['user']['email']>().toEqualTypeOf<string>()
    const { user } = await api.getSession({ request: await request() })
    expect(user).toMatchObject({ locale: 'en', credits: 0, theme: null })
  })

  test('are accepted by updateUser if they are input, and always returned', async () => {
    expectTypeOf<InputOf<'updateUser'>>().toExtend<{
      name?: string
      image?: string | null
      locale?: 'en' | 'de'
      theme?: string | null
    }>()
    expectTypeOf<keyof InputOf<'updateUser'>>().toEqualTypeOf<'name' | 'image' | 'locale' | 'theme'>()
    expectTypeOf<OutputOf<'updateUser'>>().toExtend<{ user: OwnUser }>()
    const { user } = await api.updateUser({ request: await request(), locale: 'de', theme: 'dark' })
    expect(user).toMatchObject({ locale: 'de', credits: 0, theme: 'dark' })
    const plain = await request()
    // @ts-expect-error a column that isn't input is not accepted
    await expect(api.updateUser({ request: plain, credits: 100 })).rejects.toMatchObject({
      fields: ['credits'],
    })
    // @ts-expect-error a value of the wrong type is not accepted
    await expect(api.updateUser({ request: plain, locale: 'fr' })).rejects.toMatchObject({
      fields: ['locale'],
    })
  })

  test('are missing without plugins that add any', () => {
    type Plain = Auth['api']
    type OwnSession = Awaited<ReturnType<Plain['getSession']>>
    expectTypeOf<keyof OwnSession['user']>().toEqualTypeOf<keyof UserResponse>()
    expectTypeOf<OwnSession['user']>().not.toHaveProperty('locale')
    expect(api).toBeDefined()
  })
})
