import type { DeliverInvitation } from '@sallyport/core/plugins/organization'
import { env } from './env.ts'

/** Stands for a mail. Behind the `#` the token reaches no server, and no log but this. */
export const printInvitation: DeliverInvitation = async ({ email, organization, role, token }) =>
  console.log(`${email} may join ${organization.name} as ${role}: ${env.BASE_URL}/join#token=${token}`)
