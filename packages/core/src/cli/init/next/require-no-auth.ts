import { ConfigurationError } from '../../../protocol/errors.ts'
import type { DetectedApp } from '../detect.ts'
import { findAppFile } from './app-files.ts'

const LIBRARIES = ['next-auth', '@auth/core', 'better-auth', '@clerk/nextjs']

/** A dynamic path beside `app/api/auth/[...path]`. */
const BESIDE_AUTH = /^app\/api\/auth\/(?!\[\.\.\.path\])\[/
/** Also a dynamic path beside `app/api/[...path]`, which an app without tRPC gets. */
const BESIDE_API = /^app\/api\/(?:auth\/)?(?!\[\.\.\.path\])\[/

/** @throws ConfigurationError if another library signs users in, or a route of the app excludes ours */
export function requireNoAuth({ packages }: DetectedApp): void {
  const library = LIBRARIES.find((name) => packages.has(name))
  if (library !== undefined)
    throw new ConfigurationError(
      `Nothing written: package.json has ${library}, which signs users in. To keep it and guard procedures, follow docs/migrating.md.`,
    )
  const route = findAppFile(packages.has('@trpc/server') ? BESIDE_AUTH : BESIDE_API)
  if (route === undefined) return
  throw new ConfigurationError(
    `Nothing written: ${route} exists, and Next.js allows no other dynamic path beside it. If it signs users in, follow docs/migrating.md. If not, follow docs/nextjs.md#in-an-existing-app.`,
  )
}
