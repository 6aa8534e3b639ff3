import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { run } from '../test-packages/run.ts'
import { type Changes, countChanges } from './count-changes.ts'

/** Counts the changes to a repository since its last commit, without the sign-in page and the manifests. */
export function countLines(cwd: string): Changes {
  const before = `${cwd}-before`
  run('git', ['worktree', 'add', '--detach', before], { cwd })
  run('git', ['add', '-A'], { cwd })
  const signIn = existsSync(join(cwd, 'src')) ? 'src/app/sign-in/page.tsx' : 'app/sign-in/page.tsx'
  const args = ['diff', '--cached', '--name-only', '--', '.', ':!package*.json', `:!${signIn}`]
  const files = run('git', args, { cwd }).trim().split('\n')
  const { changed, added } = countChanges(before, cwd, files)
  const page = countChanges(before, cwd, [signIn])
  console.log(
    `${basename(cwd)}: ${changed} lines of the unguarded app change, ${added} are in new files, and ${page.added} in a sign-in page`,
  )
  return { changed, added }
}
