import { fileURLToPath } from 'node:url'
import { bundleForBrowser, bundleModule } from '../browser-bundle.ts'
import type { PeerName } from './peers.ts'

/** Returns how many bytes the client without React adds to an app, minified and gzipped. */
export async function browserBytes(): Promise<Partial<Record<PeerName, number>>> {
  const betterAuthClient = JSON.stringify(fileURLToPath(import.meta.resolve('better-auth/client')))
  const { bytes: betterAuth } = await bundleModule(`export { createAuthClient } from ${betterAuthClient}`)
  const { bytes: sallyport } = await bundleForBrowser('client', 'links')
  return { sallyport, 'better-auth': betterAuth, 'better-auth-cached': betterAuth }
}
