import type { HydrationState } from '@sallyport/core/internal/protocol'
import { hydrateRoot } from 'react-dom/client'
import { createApp } from './create-app.tsx'

declare global {
  /** The state that the server put into the page. */
  var hydration: HydrationState | undefined
}

const log: string[] = []
const root = document.getElementById('root')
if (root === null) throw new Error('The page has no root')
// Every status that the user sees.
const seen = () => document.getElementById('status')?.textContent
new MutationObserver(() => log.push(`seen: ${seen()}`)).observe(root, {
  subtree: true,
  childList: true,
  characterData: true,
})
const { authClient, element } = createApp({ hydrate: globalThis.hydration, log })
const options = { onRecoverableError: (error: unknown) => log.push(`mismatch: ${error}`) }
// App code may run before React does.
if (location.pathname === '/late') void authClient.refresh().then(() => hydrateRoot(root, element, options))
else hydrateRoot(root, element, options)

/** Returns the events since the last call, in order. */
export const takeLog = (): string[] => log.splice(0)

/** Returns the user of the client. */
export const userId = (): string | null => authClient.getState().userId
