import * as z from 'zod'
import type { SessionResponse, SuccessResponse, TokenResponse, VerifyEmailResponse } from '../protocol.ts'

/** For a GET without input: ignores the query. */
export const anyQuery: z.ZodType<object> = z.object({})

export const noFields: z.ZodType<object> = z.strictObject({})

export const id: z.ZodType<string> = z
  .string()
  .min(1)
  .max(128)
  // PostgreSQL rejects it.
  .refine((text) => !text.includes('\0'))

export const done: z.ZodType<SuccessResponse> = z.object({ success: z.literal(true) })
export const revokedCount: z.ZodType<{ revoked: number }> = z.object({ revoked: z.number() })
export const revoked: z.ZodType<{ revoked: boolean }> = z.object({ revoked: z.boolean() })

export const tokens: z.ZodType<TokenResponse> = z.object({
  expiresIn: z.number(),
  expiresAt: z.string(),
  userId: z.string(),
  sessionId: z.string(),
  token: z.string().exactOptional(),
  sessionToken: z.string().exactOptional(),
})

export const verifiedEmail: z.ZodType<VerifyEmailResponse> = z.union([z.intersection(done, tokens), done])

/** Never the secret. */
export const sessionFields: { readonly [Name in keyof SessionResponse]: z.ZodType<SessionResponse[Name]> } = {
  id: z.string(),
  createdAt: z.string(),
  lastSeenAt: z.string(),
  lastAuthenticatedAt: z.string(),
  expiresAt: z.string(),
  address: z.string().nullable(),
  device: z.string().nullable(),
  current: z.boolean(),
}

export const session: z.ZodType<SessionResponse> = z.object(sessionFields)
