import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser } from '../../../../scripts/test-apps/app.ts'
import { banInSqlite } from '../../../../scripts/test-apps/ban-in-sqlite.ts'
import { openTour, PROOFS, type Tour } from '../../../../scripts/test-apps/proofs.ts'
import { launchChromium } from '../browser/launch-chromium.ts'
import { appKeys } from './app-keys.ts'
import { proveActions } from './prove-actions.ts'
import { type NextServer, runNext, serveNext } from './run-next.ts'
import { writeApp } from './write-app.ts'

// `pnpm test:apps` runs webpack, the development server, and other settings.
let folder: string
let built: string
let server: NextServer
let browser: Browser | string
let tour: Tour

beforeAll(async () => {
  folder = await writeApp()
  // Without keys and a database, and with the type check.
  built = await runNext(['build'], { cwd: folder })
  const env = await appKeys()
  server = await serveNext({ args: ['start'] }, { cwd: folder, env })
  browser = await launchChromium()
  if (typeof browser === 'string') return
  const ban = (email: string) => banInSqlite(join(folder, 'app.db'), email)
  tour = await openTour({ origin: server.origin, signingKeys: env.SIGNING_KEYS, ban }, browser)
}, 240_000)
afterAll(async () => {
  if (typeof browser === 'object') await browser.close()
  await server?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

test('the app of docs/nextjs.md builds with the tsconfig.json of create-next-app, and without secrets', () => {
  expect(built).toMatch(/Finished TypeScript[\s\S]+ƒ \/api\/\[\.\.\.path\][\s\S]+ƒ Proxy/)
})

for (const [name, prove] of PROOFS)
  test(name, async (context) => {
    if (typeof browser === 'string') context.skip(browser)
    await prove(tour)
  })

test('a Server Action runs with the same guards, and sets the cookie of a refresh', (context) => {
  if (typeof browser === 'string') context.skip(browser)
  return proveActions(tour.app)
})

test('the server reports nothing but the rejected actions', () => {
  const errors = server.output().match(/⨯.*/g) ?? []
  expect(errors.filter((error) => !/TRPCError|Invalid Server Actions request/.test(error))).toEqual([])
})
