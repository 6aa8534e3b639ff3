import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { bundle } from '../../../core/test/support/bundle.ts'

const bundled = (file: string) => bundle(fileURLToPath(new URL(`./app/${file}`, import.meta.url)))

test("the module that every procedure imports carries the guard's types, and nothing of Better Auth", async () => {
  const { files, imports } = await bundled('procedures.ts')
  expect(files.some((file) => file.endsWith('/trpc/src/server/bind-session.ts'))).toBe(true)
  const isForbidden = (file: string) =>
    /better-auth|kysely|core\/src\/(plugins|endpoints|database)/.test(file)
  expect([...files, ...imports].filter(isForbidden).map((file) => file.replace(/.*\/app\//, ''))).toEqual([
    'procedures.ts',
  ])
})
