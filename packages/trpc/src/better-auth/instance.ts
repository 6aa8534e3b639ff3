import type { BetterAuthOptions } from 'better-auth'
import type { WritableAdapter } from './follow-adapter.ts'

/** The result of `betterAuth()`. */
export interface BetterAuth {
  readonly options: BetterAuthOptions
  readonly api: { getSession(input: GetSessionInput): Promise<{ readonly headers: Headers }> }
  readonly $context: Promise<BetterAuthContext>
}

/** The part of Better Auth's context that guards use. */
export interface BetterAuthContext {
  readonly secret: string
  readonly options: BetterAuthOptions
  /** Returns false if the database creates the ids. */
  generateId(options: { readonly model: 'session' }): string | false
  readonly authCookies: {
    readonly sessionToken: { readonly name: string }
    readonly sessionData: { readonly name: string }
    readonly dontRememberToken: { readonly name: string }
  }
  readonly sessionConfig: {
    readonly updateAge: number
    readonly expiresIn: number
  }
  readonly adapter: BetterAuthAdapter
  readonly internalAdapter: {
    findSession(token: string): Promise<{
      readonly session: Record<string, unknown>
      readonly user: Record<string, unknown>
    } | null>
    listSessions(userId: string): Promise<Record<string, unknown>[]>
  }
}

interface GetSessionInput {
  headers: Headers
  query: { disableCookieCache: boolean }
  returnHeaders: true
  method?: 'POST'
}

interface BetterAuthAdapter extends WritableAdapter {
  readonly id: string
  readonly options?: unknown
  findOne(query: {
    readonly model: string
    readonly where: { readonly field: string; readonly value: string }[]
  }): Promise<Record<string, unknown> | null>
}
