// `pnpm size`: prints how much the browser entries add to an app, minified and gzipped, without their peers.
import { bundleForBrowser } from './browser-bundle.ts'

for (const entries of [
  ['client'],
  ['client', 'provider'],
  ['client', 'react'],
  ['client', 'links'],
  ['client', 'links', 'react'],
  ['client', 'bearer'],
  ['betterAuth', 'links'],
] as const) {
  const { bytes } = await bundleForBrowser(...entries)
  console.log(`${entries.join(' + ').padEnd(22)} ${String(bytes).padStart(6)} bytes`)
}
