import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const docs = join(import.meta.dirname, '../../../../docs')
const threatModel = readFileSync(join(docs, 'internals/threat-model.md'), 'utf8')

/** Paths of the files of all tests, without `.test.ts` or `.ts`. */
const tests = globSync('packages/*/test/**/*.ts', { cwd: join(docs, '..') }).map((path) =>
  path.replace(/(\.alone)?(\.test)?\.ts$/, ''),
)

const threats = tablesOf(threatModel)
  .filter(({ header }) => header[0] === 'Threat')
  .flatMap(({ rows }) => rows)

describe('docs/internals/threat-model.md', () => {
  test('has every threat in a table with its defense and its tests', () => {
    expect(threats.length).toBeGreaterThan(60)
    expect(threats.filter((cells) => cells.length !== 3 || cells.includes(''))).toEqual([])
    expect(threats.filter((cells) => testsOf(cells).length === 0)).toEqual([])
  })

  test('names only tests that exist, by folder and file', () => {
    const named = threats.flatMap(testsOf)
    expect(named.filter((name) => !/^[\w-]+\/[\w-]+$/.test(name))).toEqual([])
    expect(named.filter((name) => !tests.some((path) => path.endsWith(`/${name}`)))).toEqual([])
  })
})

describe('the ways to sign in in the threat model', () => {
  const [, section = ''] = threatModel.split('\n## Ways to sign in\n')
  const [ways = ''] = section.split('\n## ')
  const attacks = tablesOf(ways).flatMap(({ rows }) => rows)

  test('are at least 60 attacks, each named once, and cover every plugin that signs users in', () => {
    expect(new Set(attacks.map(([name]) => name)).size).toBe(attacks.length)
    expect(attacks.length).toBeGreaterThanOrEqual(60)
    const named = attacks.flatMap(testsOf).join(' ')
    for (const plugin of ['oauth', 'passkeys', 'email-code', 'totp', 'anonymous', 'email-password'])
      expect(named).toContain(`${plugin}/`)
  })

  test('have their tests in pnpm test:sign-in', () => {
    const { scripts } = JSON.parse(readFileSync(join(docs, '../package.json'), 'utf8'))
    const places: string[] = scripts['test:sign-in'].split(' ').slice(2)
    const missing = attacks.flatMap(testsOf).filter((name) => {
      const paths = tests.filter((path) => path.endsWith(`/${name}`))
      return !paths.some((path) => places.some((place) => path.startsWith(place)))
    })
    expect(missing).toEqual([])
  })
})

describe('docs/internals/asvs.md', () => {
  const requirements = tablesOf(readFileSync(join(docs, 'internals/asvs.md'), 'utf8')).flatMap(
    ({ rows }) => rows,
  )

  test('has every requirement of V6 and V10 with a status and a test or document', () => {
    // The number of requirements in each section of ASVS 5.0.
    const sections = { 6: [3, 12, 8, 6, 8, 4, 2, 4], 10: [2, 3, 5, 16, 5, 2, 3] }
    const numbers = Object.entries(sections).flatMap(([chapter, counts]) =>
      counts.flatMap((count, index) =>
        Array.from({ length: count }, (_, before) => `${chapter}.${index + 1}.${before + 1}`),
      ),
    )
    expect(requirements.map(([number]) => number)).toEqual(numbers)
    const statuses = new Set(requirements.map(([, , , status]) => status))
    expect([...statuses].sort()).toEqual(['App', 'Does not apply', 'Met', 'Not met', 'Partly'])
    expect(requirements.filter((cells) => cells.length !== 6 || cells.includes(''))).toEqual([])
  })

  test('names only tests that exist, by folder and file', () => {
    const named = requirements.flatMap(testsOf)
    expect(named.filter((name) => !tests.some((path) => path.endsWith(`/${name}`)))).toEqual([])
  })
})

describe('docs/security.md', () => {
  test('says what each stolen credential gives, for how long, and what ends it', () => {
    const page = readFileSync(join(docs, 'security.md'), 'utf8')
    const table = tablesOf(page).find(({ header }) => header[0] === 'Stolen')
    expect(table?.header).toEqual(['Stolen', 'What it gives', 'For how long', 'What ends it'])
    const stolen = table?.rows.map(([name = '']) => name.toLowerCase()).join('\n')
    for (const credential of ['jwt', 'cookie', 'socket', 'mailbox', 'database', 'key'])
      expect(stolen).toContain(credential)
    expect(table?.rows.filter((cells) => cells.length !== 4 || cells.includes(''))).toEqual([])
  })
})

/** The names in the last cell of a row. */
function testsOf(cells: readonly string[]): string[] {
  return Array.from((cells.at(-1) ?? '').matchAll(/`([^`]+)`/g), ([, name = '']) => name)
}

interface Table {
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

function tablesOf(text: string): Table[] {
  const blocks = text.match(/(?:^\|.*\|$\n?)+/gm) ?? []
  return blocks.map((block) => {
    const [header = [], , ...rows] = block.trim().split('\n').map(cellsOf)
    return { header, rows }
  })
}

function cellsOf(line: string): string[] {
  return line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim())
}
