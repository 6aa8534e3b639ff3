import * as z from 'zod/mini'
import { id } from '../../endpoints/plain-schemas.ts'
import type { InvitationResponse, MemberResponse, OrganizationResponse } from '../../protocol.ts'
import { type PageInput, pageFields } from '../pagination.ts'

export type OrganizationPageInput = PageInput & { organizationId: string }

export const pageInput: z.ZodMiniType<OrganizationPageInput> = z.strictObject({
  organizationId: id,
  ...pageFields,
})

const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/
export const slugSchema: z.ZodMiniType<string> = z.string().check(z.maxLength(64), z.regex(SLUG))

export function roleSchema(roles: readonly string[]): z.ZodMiniType<string> {
  return z.string().check(z.refine((role) => roles.includes(role)))
}

const text = z.string()

const organizationFields = { id: text, name: text, slug: text, role: text, createdAt: text }
export const organizationResponse: z.ZodMiniType<OrganizationResponse> = z.object(organizationFields)

const memberFields = { userId: text, name: text, email: text, role: text, createdAt: text }
export const memberResponse: z.ZodMiniType<MemberResponse> = z.object({
  ...memberFields,
  image: z.nullable(text),
})

const invitationFields = { id: text, email: text, role: text, inviterId: text }
export const invitationResponse: z.ZodMiniType<InvitationResponse> = z.object({
  ...invitationFields,
  createdAt: text,
  expiresAt: text,
})
