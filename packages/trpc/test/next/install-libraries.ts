import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../documents/read-documents.ts'

/**
 * Builds both libraries into an app's `node_modules`, as published but without types, with the workspace's
 * dependencies.
 */
export async function installLibraries(app: string): Promise<void> {
  await Promise.all(
    ['core', 'trpc'].map(async (library) => {
      const source = join(ROOT, 'packages', library)
      const folder = join(app, 'node_modules/@sallyport', library)
      const { publishConfig, ...manifest } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
      const { dependencies, peerDependencies } = manifest
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, ...publishConfig }))
      for (const name of Object.keys({ ...dependencies, ...peerDependencies })) {
        // The app has the built core, and not every optional package.
        if (name === '@sallyport/core' || name === '@node-rs/bcrypt') continue
        const link = join(folder, 'node_modules', name)
        mkdirSync(dirname(link), { recursive: true })
        symlinkSync(join(source, 'node_modules', name), link, 'junction')
      }
      const dist = join(folder, 'dist')
      await runNode(join(ROOT, 'node_modules/rolldown/bin/cli.mjs'), {
        args: ['-c', join(ROOT, 'rolldown.config.ts'), '--dir', dist],
        cwd: source,
      })
    }),
  )
}

const runNode = (script: string, { args, cwd }: { args: readonly string[]; cwd: string }) =>
  promisify(execFile)(process.execPath, [script, ...args], { cwd })
