import { spawnSync } from 'node:child_process'
import { delimiter } from 'node:path'

/** Where a command runs, and what is first on its path. */
export interface RunOptions {
  readonly cwd: string
  readonly path?: string
}

/** What a command prints. Throws with all that it printed where it fails or takes longer than three minutes. */
export function run(command: string, args: readonly string[], { cwd, path }: RunOptions): string {
  const env =
    path === undefined ? process.env : { ...process.env, PATH: `${path}${delimiter}${process.env.PATH}` }
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, {
    cwd,
    env,
    encoding: 'utf8',
    timeout: 180_000,
  })
  if (error || status !== 0) {
    const ending = `${command} ${args.join(' ')} ended with ${signal ?? status}`
    throw new Error(`${ending}\n${stdout}${stderr}`, { cause: error })
  }
  return stdout
}
