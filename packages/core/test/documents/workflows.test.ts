import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../../../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const workflows = globSync('.github/workflows/*.{yml,yaml}', { cwd: root }).sort()

/** What is wrong with the steps of a workflow. */
function faultsOf(workflow: string): string[] {
  const steps = workflow.split(/^ +- (?=uses:|run:|name:)/m).slice(1)
  return steps.flatMap((step) => {
    const [, action] = /^ *uses: *(.*)$/m.exec(step) ?? []
    const faults: string[] = []
    if (action !== undefined && !/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))
      faults.push(`not pinned by commit, with its version behind it: ${action}`)
    if (action?.startsWith('actions/checkout@') && !/^ +persist-credentials: false$/m.test(step))
      faults.push('actions/checkout keeps the token of the job in .git/config')
    for (const [, version = ''] of step.matchAll(/(?:npx -y|--global) pnpm(\S*)/g))
      if (version !== `@${pnpmVersion}`) faults.push(`pnpm${version} is not pnpm@${pnpmVersion}`)
    return faults
  })
}

const { packageManager, scripts } = JSON.parse(read('package.json'))
const pnpmVersion = String(packageManager).replace('pnpm@', '')

describe('each workflow', () => {
  test.each(workflows)('%s pins its actions and pnpm, and keeps no credentials', (path) => {
    expect(faultsOf(read(path))).toEqual([])
  })

  test.each(workflows)('%s has no permissions but those that it names', (path) => {
    expect(read(path)).toMatch(/^permissions:(?: \{\}|\n {2}contents: read)$/m)
  })

  test.each([
    ['a tag', '      - uses: actions/setup-node@v5\n'],
    ['a branch', '      - uses: actions/setup-node@main\n'],
    ['a short commit', '      - uses: actions/setup-node@a0853c2 # v5.0.0\n'],
    ['a commit without its version', `      - uses: actions/setup-node@${'a'.repeat(40)}\n`],
    ['a checkout that keeps the token', `      - uses: actions/checkout@${'a'.repeat(40)} # v5.1.0\n`],
    ['any pnpm', '      - run: npx -y pnpm test\n'],
    ['another pnpm', '      - run: npx -y pnpm@1.0.0 test\n'],
    ['a step with a name', '      - name: Node\n        uses: actions/setup-node@v5\n'],
  ])('%s is found', (_what, step) => {
    expect(faultsOf(`jobs:\n  check:\n    steps:\n${step}`)).toHaveLength(1)
  })

  test('is read: tests, releases, and code scanning', () => {
    expect(workflows.map((path) => path.split('/').at(-1))).toEqual(['ci.yml', 'codeql.yml', 'release.yml'])
  })
})

test('CI checks prose and links, and builds the site', () => {
  expect(read('.github/workflows/ci.yml')).toMatch(/^ +- run: npx -y pnpm@\S+ check$/m)
  expect(scripts.check).toMatch(/pnpm prose && pnpm links && .*turbo run .*\bpages\b/)
})

test('new releases are adopted after some days, by pnpm and by Dependabot', () => {
  const [, minutes = 0] = /^minimumReleaseAge: (\d+)$/m.exec(read('pnpm-workspace.yaml')) ?? []
  expect(Number(minutes)).toBeGreaterThanOrEqual(2 * 24 * 60)
  const updates = read('.github/dependabot.yml').split('package-ecosystem: ').slice(1)
  expect(updates.map((update) => update.split('\n')[0])).toEqual(['npm', 'github-actions'])
  for (const update of updates) expect(update).toMatch(/cooldown:\n +default-days: \d+/)
})

test('a release has an SBOM of each package', () => {
  expect(scripts.sbom).toMatch(/^pnpm sbom .*--filter @sallyport\/core .*--filter @sallyport\/trpc .*--split/)
  const release = read('.github/workflows/release.yml')
  expect(release).toContain('pnpm run sbom')
  expect(release).toContain('gh release upload')
})
