import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeApp } from '../../../core/test/support/write-app.ts'

const library = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** What an app has installed, and where it is. */
const PACKAGES = {
  '@sallyport/core': library('../core'),
  '@sallyport/trpc': library('.'),
  '@trpc/server': library('node_modules/@trpc/server'),
  '@types/node': library('../../node_modules/@types/node'),
  kysely: library('node_modules/kysely'),
  zod: library('node_modules/zod'),
}

/** Writes an app into a new folder inside another, where the libraries are linked as in a workspace. Returns its path. */
export function linkedApp(parent: string, files: Readonly<Record<string, string>>): string {
  const root = writeApp(parent, { 'package.json': '{ "type": "module" }', ...files })
  for (const [name, path] of Object.entries(PACKAGES)) {
    const link = join(root, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(path, link)
  }
  return root
}
