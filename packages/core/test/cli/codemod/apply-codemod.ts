import { join, relative } from 'node:path'
import { planCodemod } from '../../../src/cli/codemod/plan.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { writeApp } from '../../support/write-app.ts'

interface Applied {
  /** The text of the files that change. */
  readonly changed: Readonly<Record<string, string>>
  readonly left: readonly string[]
}

const directory = temporaryDirectory()

/** Writes an app, and returns what the codemod would make of it. */
export function applyCodemod(
  files: Readonly<Record<string, string>>,
  options: { trustsContext: boolean } = { trustsContext: false },
): Applied {
  const app = writeApp(directory, files)
  const { changes, left } = planCodemod(app, options)
  return {
    changed: Object.fromEntries(changes.map(({ path, after }) => [relative(app, path), after])),
    left: left.map((line) => line.replace(join(app, '/'), '')),
  }
}

/** A context whose session comes from Better Auth. */
export const CONTEXT = `
import { betterAuth } from 'better-auth'
const auth = betterAuth({})
export async function createContext({ headers }: { headers: Headers }) {
  const session = await auth.api.getSession({ headers })
  return { session, user: session?.user ?? null }
}
`

/** A module of procedures, with a context above. */
export const PROCEDURES = `
import { initTRPC, TRPCError } from '@trpc/server'
import type { createContext } from './context.ts'
const t = initTRPC.context<typeof createContext>().create()
`
