import * as z from 'zod/mini'
import type { SessionResponse, SuccessResponse, TokenResponse, VerifyEmailResponse } from '../protocol.ts'

/** For a GET without input: ignores the query. */
export const anyQuery: z.ZodMiniType<object> = z.object({})

export const noFields: z.ZodMiniType<object> = z.strictObject({})

/** PostgreSQL rejects NUL. */
export const withoutNul: z.core.$ZodCheck<string> = z.refine((text) => !text.includes('\0'))

export const id: z.ZodMiniType<string> = z.string().check(z.minLength(1), z.maxLength(128), withoutNul)

/** A secret that works once, such as one sent by email. */
export const oneTimeToken: z.ZodMiniType<string> = z.string().check(z.minLength(1), z.maxLength(128))

export const done: z.ZodMiniType<SuccessResponse> = z.object({ success: z.literal(true) })
export const revokedCount: z.ZodMiniType<{ revoked: number }> = z.object({ revoked: z.number() })
export const revoked: z.ZodMiniType<{ revoked: boolean }> = z.object({ revoked: z.boolean() })

export const tokens: z.ZodMiniType<TokenResponse> = z.object({
  expiresIn: z.number(),
  expiresAt: z.string(),
  userId: z.string(),
  sessionId: z.string(),
  token: z.exactOptional(z.string()),
  sessionToken: z.exactOptional(z.string()),
})

export const verifiedEmail: z.ZodMiniType<VerifyEmailResponse> = z.union([z.intersection(done, tokens), done])

/** Never the secret. */
export const sessionFields: {
  readonly [Name in keyof SessionResponse]: z.ZodMiniType<SessionResponse[Name]>
} = {
  id: z.string(),
  createdAt: z.string(),
  lastSeenAt: z.string(),
  lastAuthenticatedAt: z.string(),
  expiresAt: z.string(),
  amr: z.array(z.string()),
  address: z.nullable(z.string()),
  device: z.nullable(z.string()),
  current: z.boolean(),
}

export const session: z.ZodMiniType<SessionResponse> = z.object(sessionFields)
