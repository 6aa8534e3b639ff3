import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchChromium } from '../browser/launch-chromium.ts'
import { appKeys } from './app-keys.ts'
import { browse } from './browse.ts'
import { type NextServer, runNext, serveNext } from './run-next.ts'
import { type Visit, visit } from './visit.ts'
import { writeApp } from './write-app.ts'

// `pnpm test:apps` runs webpack, the development server, and other settings.
let folder: string
let built: string
let server: NextServer
let visited: Visit

beforeAll(async () => {
  folder = await writeApp()
  // Without keys and a database, and with the type check.
  built = await runNext(['build'], { cwd: folder })
  server = await serveNext({ args: ['start'] }, { cwd: folder, env: await appKeys() })
  visited = await visit(server.origin, 'ada@example.com')
}, 240_000)
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

test('the app of docs/nextjs.md builds with the tsconfig.json of create-next-app, and without secrets', () => {
  expect(built).toMatch(/Finished TypeScript[\s\S]+ƒ \/api\/\[\.\.\.path\][\s\S]+ƒ Proxy/)
})

test('a mutation has a body of 90 KB', () => {
  expect(visited.saved).toEqual({ result: { data: 90_000 } })
})

test('a full page load with an expired JWT renders the user, and sets the new JWT', () => {
  expect(visited.page.html).toContain('<p>ada@example.com</p>')
  expect(visited.page.setCookies).toEqual(['service.jwt'])
})

test('a Server Action runs for the user, and not without a session or from another site', () => {
  expect(visited.actions).toEqual({ ofUser: 200, withoutSession: 500, ofOtherSite: 500 })
})

test('a navigation right after a sign-in arrives, and no page shows the user before', async (context) => {
  const browser = await launchChromium()
  if (typeof browser === 'string') return context.skip(browser)
  try {
    const { seen, errors } = await browse(browser, server.origin)
    expect(seen).toEqual([
      { step: 'signed up', path: '/me', users: ['grace@example.com'] },
      { step: 'signed out', path: '/', users: [] },
      { step: 'another user signed in', path: '/me', users: ['alan@example.com'] },
      { step: 'went back', path: '/', users: [] },
    ])
    expect(errors).toEqual([])
  } finally {
    await browser.close()
  }
})

test('the server reports nothing but the rejected actions', () => {
  const errors = server.output().match(/⨯.*/g) ?? []
  expect(errors.filter((error) => !/TRPCError|Invalid Server Actions request/.test(error))).toEqual([])
})
