// Run by `pnpm release`, before anything is published: what has to be true of a release and of no other commit.
import { existsSync, readFileSync } from 'node:fs'

const { GITHUB_REPOSITORY } = process.env
const root = new URL('../', import.meta.url)
const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(new URL(`${folder}package.json`, root), 'utf8'))

const url = `git+https://github.com/${GITHUB_REPOSITORY}.git`
const rules: [boolean, string][] = [
  [GITHUB_REPOSITORY !== undefined, 'Releases are made only by .github/workflows/release.yml'],
  [
    manifestOf('').repository?.url === url,
    `repository.url in package.json is not ${url}, as provenance demands`,
  ],
]
for (const folder of ['packages/core/', 'packages/trpc/']) {
  const { version } = manifestOf(folder)
  const file = new URL(`${folder}CHANGELOG.md`, root)
  const changelog = existsSync(file) ? readFileSync(file, 'utf8') : ''
  rules.push([changelog.includes(`\n## ${version}\n`), `${folder}CHANGELOG.md says nothing about ${version}`])
}
const faults = rules.filter(([holds]) => !holds)
for (const [, fault] of faults) console.error(fault)
process.exitCode = faults.length > 0 ? 1 : 0
