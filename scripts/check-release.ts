// Run by `pnpm release`, before anything is published: what has to be true of a release and of no other commit.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const { GITHUB_REPOSITORY } = process.env
const faults = ['core', 'trpc'].flatMap(faultsOf)
for (const fault of faults) console.error(fault)
process.exitCode = faults.length > 0 ? 1 : 0

function faultsOf(name: string): string[] {
  const folder = new URL(`../packages/${name}/`, import.meta.url)
  const read = (file: string) => readFileSync(new URL(file, folder), 'utf8')
  const { version, repository } = JSON.parse(read('package.json'))
  const changelog = existsSync(fileURLToPath(new URL('CHANGELOG.md', folder))) ? read('CHANGELOG.md') : ''
  const url = `git+https://github.com/${GITHUB_REPOSITORY}.git`
  const rules: [boolean, string][] = [
    [GITHUB_REPOSITORY !== undefined, 'releases are made by .github/workflows/release.yml alone'],
    [repository?.url === url, `repository.url is not ${url}, which provenance would have to say`],
    [repository?.directory === `packages/${name}`, `repository.directory is not packages/${name}`],
    [changelog.includes(`\n## ${version}\n`), `CHANGELOG.md has nothing about ${version}`],
  ]
  return rules.filter(([holds]) => !holds).map(([, fault]) => `packages/${name}: ${fault}`)
}
