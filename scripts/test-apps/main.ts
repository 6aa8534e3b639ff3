// `pnpm test:apps`: builds and runs apps with the tarballs of both libraries, in empty folders. With names of
// setups as arguments, only these.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { launchChromium } from '../../packages/trpc/test/browser/launch-chromium.ts'
import { packLibraries } from '../test-packages/pack-libraries.ts'
import { installNext, SETUPS, useNext } from './next.ts'

const folder = mkdtempSync(join(tmpdir(), 'test-apps-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const browser = await launchChromium()
if (typeof browser === 'string') throw new Error(browser)
const app = installNext(join(folder, 'next'), packLibraries(folder))
const failed: string[] = []
const names = process.argv.slice(2)
for (const setup of SETUPS.filter(({ name }) => names.length === 0 || names.includes(name))) {
  const start = performance.now()
  const result = await useNext(app, { setup, browser }).then(
    () => 'ok',
    (error: unknown) => {
      console.error(error)
      failed.push(setup.name)
      return 'FAILED'
    },
  )
  console.log(
    `${result.padEnd(6)} Next.js, ${setup.name} (${Math.round((performance.now() - start) / 1000)} s)`,
  )
}
await browser.close()
process.exitCode = failed.length > 0 ? 1 : 0
