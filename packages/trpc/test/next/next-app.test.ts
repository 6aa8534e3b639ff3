import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type NextServer, runNext, serveNext } from './run-next.ts'
import { visit, type Visit } from './visit.ts'
import { writeApp } from './write-app.ts'

// `pnpm test:apps` runs the other bundler, the development server, and other settings.
let folder = ''
let server: NextServer | undefined
let visited: Visit

beforeAll(async () => {
  folder = await writeApp({})
  await runNext(['build'], { cwd: folder })
}, 120_000)
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})
