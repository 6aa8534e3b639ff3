import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import { checkWrongContexts } from './check-wrong-contexts.ts'

// `pnpm test:packages` runs TypeScript 5.9, too.
test('a context that lacks a member does not compile, and the message says what to add', () => {
  const folder = temporaryDirectory()
  // The packages of an app.
  symlinkSync(pathOf('../../../example/node_modules'), join(folder, 'node_modules'), 'junction')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const config = { extends: pathOf('../../../../tsconfig.base.json'), compilerOptions: { types: [] } }
  const flags = ['--singleThreaded']
  checkWrongContexts(pathOf('../../node_modules/typescript/bin/tsc'), { folder, config, flags })
})

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url))
}
