// Run by `pnpm release` before it publishes: checks that only a release must pass.
import { existsSync, readFileSync } from 'node:fs'

const { GITHUB_REPOSITORY } = process.env
const root = new URL('../', import.meta.url)
const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(new URL(`${folder}package.json`, root), 'utf8'))

const url = `git+https://github.com/${GITHUB_REPOSITORY}.git`
const rules: [boolean, string][] = [
  [GITHUB_REPOSITORY !== undefined, 'Release with .github/workflows/release.yml only'],
  [manifestOf('').repository?.url === url, `Set repository.url in package.json to ${url}, for provenance`],
]
for (const folder of ['packages/core/', 'packages/trpc/']) {
  const { version } = manifestOf(folder)
  const file = new URL(`${folder}CHANGELOG.md`, root)
  const changelog = existsSync(file) ? readFileSync(file, 'utf8') : ''
  rules.push([
    changelog.includes(`\n## ${version}\n`),
    `${folder}CHANGELOG.md has no section ${version}. Run changeset version.`,
  ])
}
const faults = rules.filter(([holds]) => !holds)
for (const [, fault] of faults) console.error(fault)
process.exitCode = faults.length > 0 ? 1 : 0
