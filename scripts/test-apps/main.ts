// `pnpm test:apps`: installs the tarballs of both libraries in apps of many frameworks, and runs the apps.
// With arguments, only the apps of these names, or whose names start with one of them.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { launchChromium } from '../../packages/trpc/test/browser/launch-chromium.ts'
import { packLibraries } from '../test-packages/pack-libraries.ts'
import type { App } from './app.ts'
import { betterTStackApp } from './better-t-stack.ts'
import { browserApps } from './browser-apps.ts'
import { createNextApp } from './create-next-app.ts'
import { expoApps } from './expo.ts'
import { nextApps } from './next.ts'
import { nodeApps } from './node.ts'
import { nuxtApp } from './nuxt.ts'
import { reactRouterApp } from './react-router.ts'
import { runtimeApps } from './runtimes.ts'
import { sseChatApp } from './sse-chat.ts'
import { startApps } from './start.ts'
import { svelteKitApps } from './sveltekit.ts'
import { t3Apps } from './t3.ts'
import { t3Pages } from './t3-pages.ts'

const APPS: readonly App[] = [
  ...nextApps,
  createNextApp,
  ...t3Apps,
  t3Pages,
  ...startApps,
  ...runtimeApps,
  ...nodeApps,
  betterTStackApp,
  sseChatApp,
  ...expoApps,
  reactRouterApp,
  ...browserApps,
  nuxtApp,
  ...svelteKitApps,
]

const selected = process.argv.slice(2)
const apps = APPS.filter(({ name }) => {
  if (selected.includes(name) || selected.length === 0) return true
  return selected.some((start) => name.startsWith(start) && !APPS.some((app) => app.name === start))
})
if (apps.length === 0) throw new Error(`Select from: ${APPS.map(({ name }) => name).join(', ')}`)

const root = mkdtempSync(join(tmpdir(), 'test-apps-'))
process.on('exit', () => rmSync(root, { recursive: true, force: true }))
const browser = await launchChromium()
if (typeof browser === 'string') throw new Error(browser)
const libraries = packLibraries(root)

for (const app of apps) {
  const start = performance.now()
  const result = await app.test({ root, libraries, browser }).then(
    () => 'ok',
    (error: unknown) => {
      console.error(error)
      process.exitCode = 1
      return 'FAILED'
    },
  )
  console.log(`${result.padEnd(6)} ${app.name} (${Math.round((performance.now() - start) / 1000)} s)`)
}
await browser.close()
// Clients of the proofs reconnect to servers that are gone.
process.exit()
