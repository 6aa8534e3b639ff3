import * as z from 'zod'
import { userName } from '../../endpoints/user-record.ts'
import type {
  ActiveOrganizationResponse,
  InvitationResponse,
  MemberResponse,
  OrganizationResponse,
  SuccessResponse,
} from '../../protocol.ts'
import { type PageInput, pageFields } from '../pagination.ts'

/** The id of an organization, an invitation or a user. */
export const id: z.ZodType<string> = z
  .string()
  .min(1)
  .max(128)
  // Which PostgreSQL does not take.
  .refine((text) => !text.includes('\0'))

/** Which part of a list of an organization is asked for. */
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

/** An email address as accounts have it: trimmed and in lower case, and only then checked. */
export const emailAddress: z.ZodType<string> = z.string().max(320).trim().toLowerCase().pipe(z.email())

export const done: z.ZodType<SuccessResponse> = z.object({ success: z.literal(true) })

export const organizationAnswer: z.ZodType<OrganizationResponse> = z.object({
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

export const memberAnswer: z.ZodType<MemberResponse> = z.object({
  userId: z.string(),
  name: z.string(),
  email: z.string(),
  image: z.string().nullable(),
  role: z.string(),
  createdAt: z.string(),
})

export const invitationAnswer: z.ZodType<InvitationResponse> = z.object({
  id: z.string(),
  email: z.string(),
  role: z.string(),
  inviterId: z.string(),
  createdAt: z.string(),
  expiresAt: z.string(),
})

/** A moment as it is answered. */
export function toIso(moment: Date | string): string {
  return new Date(moment).toISOString()
}
