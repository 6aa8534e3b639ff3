import * as z from 'zod'
import { ConfigurationError } from '../../index.ts'

const OWN_ROLES = ['owner', 'admin', 'member']

/** The role that an organization is never without. */
export const OWNER = 'owner'

/**
 * All roles of an app.
 *
 * @throws ConfigurationError naming the role that cannot be one
 */
export function allRoles(further: readonly string[]): readonly string[] {
  const roles = [...OWN_ROLES, ...further]
  const faulty = roles.find((role, place) => !/^[\w-]{1,64}$/.test(role) || roles.indexOf(role) !== place)
  if (faulty === undefined) return roles
  throw new ConfigurationError(
    `organization({ roles }): ${JSON.stringify(faulty)} is there already, or is no name of letters, digits, dashes and underscores`,
  )
}

/**
 * Whether a member may give a role, take it from someone, or do away with whoever has it. Owners may with every role, admins with all but
 * that of the owner, and a role of the app's own may do here what a member may.
 */
export function mayManage(actorRole: string, role: string): boolean {
  return actorRole === OWNER || (actorRole === 'admin' && role !== OWNER)
}

/** A role that may be given. */
export function roleSchema(roles: readonly string[]): z.ZodType<string> {
  return z.string().refine((role) => roles.includes(role))
}
