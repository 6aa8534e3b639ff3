import { betterAuthPeer } from './better-auth.ts'

/** The default is five minutes. Here, no cookie expires while it's measured. */
export const { open, seed } = betterAuthPeer({ enabled: true, maxAge: 60 * 60 })
