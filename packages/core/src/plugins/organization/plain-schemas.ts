import * as z from 'zod'
import { toDate } from '../../database/schema.ts'
import { id } from '../../endpoints/plain-schemas.ts'
import type { InvitationResponse, MemberResponse, OrganizationResponse } from '../../protocol.ts'
import { type PageInput, pageFields } from '../pagination.ts'

export type OrganizationPageInput = PageInput & { organizationId: string }

export const pageInput: z.ZodType<OrganizationPageInput> = z.strictObject({
  organizationId: id,
  ...pageFields,
})

const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/
export const slugSchema: z.ZodType<string> = z.string().max(64).regex(SLUG)

export function roleSchema(roles: readonly string[]): z.ZodType<string> {
  return z.string().refine((role) => roles.includes(role))
}

const text = z.string()

const organizationFields = { id: text, name: text, slug: text, role: text, createdAt: text }
export const organizationResponse: z.ZodType<OrganizationResponse> = z.object(organizationFields)

const memberFields = { userId: text, name: text, email: text, role: text, createdAt: text }
export const memberResponse: z.ZodType<MemberResponse> = z.object({ ...memberFields, image: text.nullable() })

const invitationFields = { id: text, email: text, role: text, inviterId: text }
export const invitationResponse: z.ZodType<InvitationResponse> = z.object({
  ...invitationFields,
  createdAt: text,
  expiresAt: text,
})

export function toIso(moment: Date | string): string {
  return toDate(moment).toISOString()
}
