import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const vite = fileURLToPath(new URL('../../node_modules/vite/bin/vite.js', import.meta.url))

/** Builds the pages as `pnpm start` does, once for all processes with the same temporary directory. */
export async function buildPages(): Promise<void> {
  const folder = join(tmpdir(), 'sallyport-pages')
  const [built, failed] = [join(folder, 'built'), join(folder, 'failed')]
  try {
    await mkdir(folder)
  } catch {
    while (!existsSync(built)) {
      if (existsSync(failed)) throw new Error('Another process failed to build the pages')
      await sleep(50)
    }
    return
  }
  try {
    await promisify(execFile)(process.execPath, [vite, 'build', '--logLevel', 'warn'], {
      cwd: new URL('../..', import.meta.url),
      env: { ...process.env, NODE_ENV: 'production' },
    })
    await writeFile(built, '')
  } catch (error) {
    await writeFile(failed, '')
    throw error
  }
}
