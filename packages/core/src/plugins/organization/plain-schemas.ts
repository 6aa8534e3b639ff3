import * as z from 'zod'
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

/** Words of lower-case letters and digits, with single dashes between them. */
export const slug: z.ZodType<string> = z
  .string()
  .max(64)
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)

/** A role that can be given. */
export function roleSchema(roles: readonly string[]): z.ZodType<string> {
  return z.string().refine((role) => roles.includes(role))
}

const text = z.string()

export const done: z.ZodType<SuccessResponse> = z.object({ success: z.literal(true) })

const organizationFields = { id: text, name: text, slug: text, role: text, createdAt: text }
export const organizationResponse: z.ZodType<OrganizationResponse> = z.object(organizationFields)

export const activeOrganization: z.ZodType<ActiveOrganizationResponse> = z.object({
  activeOrganizationId: text.nullable(),
  activeOrganizationRole: text.nullable(),
})

const memberFields = { userId: text, name: text, email: text, role: text, createdAt: text }
export const memberResponse: z.ZodType<MemberResponse> = z.object({ ...memberFields, image: text.nullable() })

const invitationFields = { id: text, email: text, role: text, inviterId: text }
export const invitationResponse: z.ZodType<InvitationResponse> = z.object({
  ...invitationFields,
  createdAt: text,
  expiresAt: text,
})

export function toIso(moment: Date | string): string {
  return new Date(moment).toISOString()
}
