import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { appKeys } from '../../packages/trpc/test/next/app-keys.ts'
import { serveNext } from '../../packages/trpc/test/next/run-next.ts'
import { install, OVERRIDES } from '../test-packages/create-project.ts'
import { type Library, tarballsOf } from '../test-packages/pack-libraries.ts'
import { peersAt } from '../test-packages/peer-ranges.ts'
import { run } from '../test-packages/run.ts'
import type { App } from './app.ts'
import { banInSqlite } from './ban-in-sqlite.ts'
import { editFiles } from './edit-files.ts'
import type { Files } from './guide-files.ts'
import type { ServedApp } from './proofs.ts'
import { proveApp } from './prove-app.ts'
import { proveStop } from './prove-stop.ts'

/** A command of a package: the path of its script in `node_modules`, and arguments. */
type Command = readonly [script: string, ...args: string[]]

export interface GuideAppOptions {
  readonly name: string
  readonly files: Files
  /** In addition to the libraries, Kysely, better-sqlite3, and tRPC. */
  readonly dependencies: Readonly<Record<string, string>>
  /** Run without keys and a database. */
  readonly builds: readonly Command[]
  /** The script of the built server, and arguments. */
  readonly server: Command
  readonly isServerRendered?: boolean
  /** Proofs of this app, after those of all apps. */
  prove?(app: Pick<ServedApp, 'origin' | 'ban'>): Promise<void>
}

/** Creates an app from the blocks of a guide, and files that the guide doesn't have. */
export function guideApp({ name, files, builds, server, ...options }: GuideAppOptions): App {
  return {
    name,
    async test({ root, libraries, browser }) {
      const folder = join(root, name)
      editFiles(folder, files)
      installApp(folder, { libraries, dependencies: options.dependencies })
      for (const [script, ...args] of builds)
        run(process.execPath, [join('node_modules', script), ...args], { cwd: folder })

      const env = await appKeys()
      const [script, ...args] = server
      await using served = await serveNext({ script, args }, { cwd: folder, env })
      const { origin } = served
      const ban = (email: string) => banInSqlite(join(folder, 'app.db'), email)
      const { isServerRendered = true } = options
      await proveApp({ origin, signingKeys: env.SIGNING_KEYS, ban, isServerRendered }, browser)
      await options.prove?.({ origin, ban })
      await proveStop(served)
    },
  }
}

function installApp(
  folder: string,
  {
    libraries,
    dependencies,
  }: { libraries: readonly Library[]; dependencies: Readonly<Record<string, string>> },
): void {
  const peers = peersAt('highest', libraries)
  const used = ['@trpc/client', '@trpc/server', 'better-sqlite3', 'kysely', 'zod']
  const manifest = {
    private: true,
    type: 'module',
    dependencies: {
      ...tarballsOf(libraries),
      ...Object.fromEntries(Object.entries(peers).filter(([name]) => used.includes(name))),
      '@types/node': '^26.6.6',
      ...dependencies,
    },
    ...('@trpc/tanstack-react-query' in dependencies && { overrides: OVERRIDES }),
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  install(folder)
}
