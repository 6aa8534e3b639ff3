import type { HydrationState } from '@sallyport/core/internal/protocol'
import { hydrateRoot } from 'react-dom/client'
import { createApp } from './create-app.tsx'

declare global {
  /** What the server has put into the page. */
  var hydration: HydrationState | undefined
}

const log: string[] = []
const root = document.getElementById('root')
if (root === null) throw new Error('The page has no root')
// Whatever the user sees meanwhile.
const seen = () => document.getElementById('status')?.textContent
new MutationObserver(() => log.push(`seen: ${seen()}`)).observe(root, {
  subtree: true,
  childList: true,
  characterData: true,
})
const { authClient, element } = createApp({ hydrate: globalThis.hydration, log })
const options = { onRecoverableError: (error: unknown) => log.push(`mismatch: ${error}`) }
// Code of the app may be faster than React.
if (location.pathname === '/late') void authClient.refresh().then(() => hydrateRoot(root, element, options))
else hydrateRoot(root, element, options)

/** What has happened, in order. */
export const takeLog = (): string[] => log.splice(0)
