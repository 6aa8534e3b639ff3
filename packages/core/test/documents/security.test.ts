import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const docs = join(import.meta.dirname, '../../../../docs')
const threatModel = readFileSync(join(docs, 'internals/threat-model.md'), 'utf8')

/** `[name]: path` at the end of the page. */
const definitions = new Map(
  [...threatModel.matchAll(/^\[([^\]]+)\]: (.+)$/gm)].map(([, name = '', path = '']) => [name, path]),
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

  test('links each test that it names', () => {
    expect(threats.flatMap(testsOf).filter((name) => !definitions.has(name))).toEqual([])
  })

  test('names each test that it links', () => {
    const named = new Set(threats.flatMap(testsOf))
    expect([...definitions.keys()].filter((name) => !named.has(name))).toEqual([])
  })

  test('links only to tests that exist', () => {
    const missing = [...definitions.values()].filter(
      (path) => !existsSync(join(docs, 'internals', path)) || !/\/test\/.+\.ts$/.test(path),
    )
    expect(missing).toEqual([])
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
  return Array.from((cells.at(-1) ?? '').matchAll(/\[([^\]]+)\]/g), ([, name = '']) => name)
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
