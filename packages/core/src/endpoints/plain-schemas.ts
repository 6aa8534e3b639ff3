import * as z from 'zod'
import type { SessionResponse, SuccessResponse, TokenResponse, VerifyEmailResponse } from '../protocol.ts'

/** The input of a GET that takes none: a query is not looked at. */
export const anyQuery: z.ZodType<object> = z.object({})

/** The input of a POST that takes none. */
export const noFields: z.ZodType<object> = z.strictObject({})

/** The id of a user or of a session. */
export const id: z.ZodType<string> = z
  .string()
  .min(1)
  .max(128)
  // Which PostgreSQL does not take.
  .refine((text) => !text.includes('\0'))

/** The output of an endpoint that has nothing to tell but that it is done. */
export const done: z.ZodType<SuccessResponse> = z.object({ success: z.literal(true) })

/** The output of an endpoint that ends sessions. */
export const revokedCount: z.ZodType<{ revoked: number }> = z.object({ revoked: z.number() })

/** The output of an endpoint that ends one session, if there is such. */
export const revoked: z.ZodType<{ revoked: boolean }> = z.object({ revoked: z.boolean() })

const tokenFields = {
  expiresIn: z.number(),
  expiresAt: z.string(),
  userId: z.string(),
  sessionId: z.string(),
  token: z.string().exactOptional(),
  sessionToken: z.string().exactOptional(),
}

/** The output of an endpoint that begins, continues, or renews a session. */
export const tokens: z.ZodType<TokenResponse> = z.object(tokenFields)

/** The output of `verifyEmail`. */
export const verifiedEmail: z.ZodType<VerifyEmailResponse> = z.object({
  success: z.literal(true),
  expiresIn: tokenFields.expiresIn.exactOptional(),
  expiresAt: tokenFields.expiresAt.exactOptional(),
  userId: tokenFields.userId.exactOptional(),
  sessionId: tokenFields.sessionId.exactOptional(),
  token: tokenFields.token,
  sessionToken: tokenFields.sessionToken,
})

/** The members of every {@link SessionResponse}: never its secret. */
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

/** A session in a list. */
export const session: z.ZodType<SessionResponse> = z.object(sessionFields)
