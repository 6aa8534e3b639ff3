import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { ConfigurationError } from '../../protocol/errors.ts'
import { isAbove } from './detect.ts'

/** @throws ConfigurationError if Git tracks the file of the keys, or if it can't say */
export function requireUntracked(path: string): void {
  if (isAbove('.git') && gitIn('.', 'ls-files', '--', path) !== '')
    throw new ConfigurationError(`Nothing written: Git tracks ${path}. Run "git rm --cached ${path}" first.`)
}

/** @throws ConfigurationError if Git has changes in a folder, unless forced, or if it can't say */
export function requireCleanGit({ force, folder = '.' }: { force: true | undefined; folder?: string }): void {
  // The folder may be in another repository than this one.
  if (!isAbove('.git', resolve(folder)) || force) return
  if (gitIn(folder, 'status', '--porcelain', '--', '.') !== '')
    throw new ConfigurationError(
      'Nothing written: Git has uncommitted changes. Commit them first, or pass --force.',
    )
}

/**
 * Returns whether Git ignores a path of `.gitignore`. Git itself knows: a later line, or another file, can
 * change it. Without a repository, the lines say.
 */
export function isIgnored(path: string, lines: readonly string[]): boolean {
  if (isAbove('.git'))
    return spawnSync('git', ['check-ignore', '-q', '--', path.replace('*', 'app')]).status === 0
  const last = lines.findLast((line) => [path, `/${path}`, `${path}*`].includes(line.replace(/^!/, '')))
  return last !== undefined && !last.startsWith('!')
}

function gitIn(folder: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: folder, encoding: 'utf8' })
  if (status === 0) return stdout
  const [reason = ''] = (stderr ?? 'it is not installed').split('\n')
  throw new ConfigurationError(`Nothing written: git ${args[0]} failed: ${reason}`)
}
