import type { DeliverInvitation } from '@sallyport/core/plugins/organization'
import { env } from './env.ts'

/**
 * Prints an invitation to the terminal, in place of an email. Browsers don't send what follows `#`, so the
 * token reaches no server log.
 */
export const printInvitation: DeliverInvitation = async ({ email, organization, role, token }) =>
  console.log(`${email} may join ${organization.name} as ${role}: ${env.BASE_URL}/join#token=${token}`)
