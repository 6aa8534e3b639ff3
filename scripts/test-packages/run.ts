import { spawnSync } from 'node:child_process'
import { delimiter } from 'node:path'

/** The working directory of a command, and a folder to put first on its path. */
export interface RunOptions {
  readonly cwd: string
  readonly path?: string
}

/** Returns a command's output. Throws it as an error if the command fails or takes over three minutes. */
export function run(command: string, args: readonly string[], { cwd, path }: RunOptions): string {
  const env =
    path === undefined ? process.env : { ...process.env, PATH: `${path}${delimiter}${process.env.PATH}` }
  // On Windows, npx and pnpm are scripts, which only a shell can run.
  const shell = process.platform === 'win32' && !command.endsWith('.exe')
  const words = shell ? args.map((arg) => `"${arg}"`) : args
  const { status, signal, error, stdout, stderr } = spawnSync(command, words, {
    cwd,
    env,
    shell,
    encoding: 'utf8',
    timeout: 180_000,
  })
  if (error || status !== 0) {
    const ending = `${command} ${args.join(' ')} ended with ${signal ?? status}`
    throw new Error(`${ending}\n${stdout}${stderr}`, { cause: error })
  }
  return stdout
}
