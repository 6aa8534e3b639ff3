import * as z from 'zod'
import { userName } from '../../auth.ts'
import type {
  ActiveOrganizationResponse,
  InvitationResponse,
  MemberResponse,
  OrganizationResponse,
  SuccessResponse,
} from '../../protocol.ts'
import { type PageInput, pageFields } from '../pagination.ts'

/** The id of an organization, an invitation, or a user. */
export const id: z.ZodType<string> = z
  .string()
  .min(1)
  .max(128)
  // PostgreSQL rejects it.
  .refine((text) => !text.includes('\0'))

/** Selects a page of an organization's list. */
export interface OrganizationPageInput extends PageInput {
  organizationId: string
}

export const pageInput: z.ZodType<OrganizationPageInput> = z.strictObject({
  organizationId: id,
  ...pageFields,
})

/** Follows the rules for names of users. */
export const organizationName: z.ZodType<string> = userName

/** Words of lower-case letters and digits, with single dashes between them. */
export const slug: z.ZodType<string> = z
  .string()
  .max(64)
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)

/** An email address as accounts store it: trimmed and in lower case, and only then validated. */
export const emailAddress: z.ZodType<string> = z.string().max(320).trim().toLowerCase().pipe(z.email())

/** A role that can be given. */
export function roleSchema(roles: readonly string[]): z.ZodType<string> {
  return z.string().refine((role) => roles.includes(role))
}

export const done: z.ZodType<SuccessResponse> = z.object({ success: z.literal(true) })

export const organizationResponse: z.ZodType<OrganizationResponse> = z.object({
  id: z.string(),
  name: z.string(),
  slug: z.string(),
  role: z.string(),
  createdAt: z.string(),
})

export const activeOrganization: z.ZodType<ActiveOrganizationResponse> = z.object({
  activeOrganizationId: z.string().nullable(),
  activeOrganizationRole: z.string().nullable(),
})

export const memberResponse: z.ZodType<MemberResponse> = z.object({
  userId: z.string(),
  name: z.string(),
  email: z.string(),
  image: z.string().nullable(),
  role: z.string(),
  createdAt: z.string(),
})

export const invitationResponse: z.ZodType<InvitationResponse> = z.object({
  id: z.string(),
  email: z.string(),
  role: z.string(),
  inviterId: z.string(),
  createdAt: z.string(),
  expiresAt: z.string(),
})

export function toIso(moment: Date | string): string {
  return new Date(moment).toISOString()
}
