import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const main = fileURLToPath(new URL('../../../core/src/cli/main.ts', import.meta.url))
const run = promisify(execFile)

/** Runs the `sallyport` command in a separate process, and returns its output. Rejects if it fails. */
export async function sallyport(...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [main, ...args])
  return stdout
}
