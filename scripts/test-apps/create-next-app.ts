import { join } from 'node:path'
import { readApp } from '../../packages/trpc/test/next/write-files.ts'
import { run } from '../test-packages/run.ts'
import type { App } from './app.ts'
import { banInSqlite } from './ban-in-sqlite.ts'
import { countLines } from './count-lines.ts'
import { editFiles } from './edit-files.ts'
import { callFirst, installApp, installPackages, mockFonts, proveBuilt, runInit } from './init-app.ts'

/** An empty app of create-next-app, to which `init` adds tRPC and auth. */
export const createNextApp: App = {
  name: 'create-next-app',
  async test({ root, libraries, browser }) {
    const name = 'create-next-app'
    const flags = [
      '--ts',
      '--eslint',
      '--tailwind',
      '--src-dir',
      '--app',
      '--use-npm',
      '--skip-install',
      '--disable-git',
    ]
    run('npx', ['-y', 'create-next-app@16.4.3', name, ...flags, '--yes'], { cwd: root })
    const cwd = join(root, name)
    installApp(cwd, libraries)
    installPackages(cwd, runInit(cwd))
    const env = mockFonts(root)
    await callFirst('me', { cwd, env })
    countLines(cwd)
    run('npm', ['run', 'lint'], { cwd })

    const files = readApp()
    // `init` has added the providers to the layout of the app.
    files.delete('app/layout.tsx')
    editFiles(join(cwd, 'src'), Object.fromEntries(files))
    const ban = (email: string) => banInSqlite(join(cwd, 'data/app.db'), email)
    await proveBuilt(cwd, { env, browser, ban })
  },
}
