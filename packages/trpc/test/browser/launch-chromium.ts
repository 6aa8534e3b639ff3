import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Browser, chromium } from 'playwright-core'

const cache = fileURLToPath(new URL('../../node_modules/.cache/sallyport', import.meta.url))
const run = promisify(execFile)

const ARGUMENTS = [
  // Containers often run as root, which has no sandbox.
  '--no-sandbox',
  '--in-process-gpu',
  '--disable-webgl',
  // Use more than one process for tabs, but few enough for fifty tabs.
  '--renderer-process-limit=2',
]

/**
 * Launches a real Chromium, or returns why it can't.
 *
 * @param added further arguments
 */
export async function launchChromium(...added: readonly string[]): Promise<Browser | string> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return launchInstalled(added)
  const executablePath = await unpack()
  for (let attempt = 1; ; attempt++) {
    try {
      return await chromium.launch({ executablePath, args: [...ARGUMENTS, ...added] })
    } catch (error) {
      const missing = /error while loading shared libraries: [^\n]*/.exec(String(error))?.[0]
      if (missing !== undefined) return `Chromium does not run here: ${missing}`
      // Chromium sometimes crashes with a segmentation fault at startup.
      if (attempt === 3 || !String(error).includes('signal=SIGSEGV')) throw error
    }
  }
}

/** Launches an installed Chrome. The package's binary only runs on Linux. */
async function launchInstalled(args: readonly string[]): Promise<Browser | string> {
  try {
    return await chromium.launch({ channel: 'chrome', args: [...args] })
  } catch {
    return `there is no Chromium for ${process.platform} on ${process.arch}, and no Chrome is installed`
  }
}

/** Unpacks the binary once for all processes and runs. It appears at its path only when complete. */
async function unpack(): Promise<string> {
  const entry = import.meta.resolve('@sparticuz/chromium')
  const manifest: { version: string } = JSON.parse(await readFile(new URL('../package.json', entry), 'utf8'))
  const folder = join(cache, `chromium-${manifest.version}`)
  if (!existsSync(folder)) {
    await mkdir(cache, { recursive: true })
    const unfinished = await mkdtemp(join(cache, 'unpacking-'))
    const script = `import(${JSON.stringify(entry)}).then((module) => module.default.executablePath())`
    // The package unpacks into the temporary directory, which only a child process can override.
    await run(process.execPath, ['-e', script], { env: { ...process.env, TMPDIR: unfinished } })
    await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true, force: true }))
  }
  return join(folder, 'chromium')
}
