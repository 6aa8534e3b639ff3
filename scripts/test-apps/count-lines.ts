import { run } from '../test-packages/run.ts'

/**
 * Counts the lines that were added since the last commit: in files of the app, and in new files. The sign-in
 * page and the manifests are extra.
 */
export function countLines(cwd: string): { changed: number; text: string } {
  run('git', ['add', '-A'], { cwd })
  const count = (filter: 'A' | 'M', path: string) => {
    const args = ['diff', '--cached', '--numstat', `--diff-filter=${filter}`, '--', path, ':!package*.json']
    const rows = run('git', args, { cwd }).trim().split('\n').filter(Boolean)
    return rows.reduce((sum, row) => sum + Number.parseInt(row, 10), 0)
  }
  const changed = count('M', '.')
  const page = count('A', '*sign-in*')
  const added = count('A', '.') - page
  return {
    changed,
    text: `${changed} lines changed in files of the app, ${added} in new files, and ${page} of a sign-in page`,
  }
}
