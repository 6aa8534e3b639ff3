import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const docs = join(import.meta.dirname, '../../../../docs')
const page = readFileSync(join(docs, 'security.md'), 'utf8')

/** `[name]: path` at the end of the page. */
const definitions = new Map(
  [...page.matchAll(/^\[([^\]]+)\]: (.+)$/gm)].map(([, name = '', path = '']) => [name, path]),
)

/** The requirements of each standard: how many a section has, or which sections. */
const STANDARDS: Readonly<Record<string, readonly string[]>> = {
  'OWASP ASVS 5.0, V2.4 Anti-automation': countedFrom({ '2.4': 2 }),
  'OWASP ASVS 5.0, V3 Web Frontend Security': countedFrom({
    '3.1': 1,
    '3.2': 3,
    '3.3': 5,
    '3.4': 8,
    '3.5': 8,
    '3.6': 1,
    '3.7': 5,
  }),
  'OWASP ASVS 5.0, V4 API and Web Service': countedFrom({ '4.1': 5, '4.2': 5, '4.3': 2, '4.4': 4 }),
  'OWASP ASVS 5.0, V6 Authentication': countedFrom({
    '6.1': 3,
    '6.2': 12,
    '6.3': 8,
    '6.4': 6,
    '6.5': 8,
    '6.6': 4,
    '6.7': 2,
    '6.8': 4,
  }),
  'OWASP ASVS 5.0, V7 Session Management': countedFrom({
    '7.1': 3,
    '7.2': 4,
    '7.3': 2,
    '7.4': 5,
    '7.5': 3,
    '7.6': 2,
  }),
  'OWASP ASVS 5.0, V8 Authorization': countedFrom({ '8.1': 4, '8.2': 4, '8.3': 3, '8.4': 2 }),
  'OWASP ASVS 5.0, V9 Self-contained Tokens': countedFrom({ '9.1': 3, '9.2': 4 }),
  'OWASP ASVS 5.0, V16 Security Logging and Error Handling': countedFrom({
    '16.1': 1,
    '16.2': 5,
    '16.3': 4,
    '16.4': 3,
    '16.5': 4,
  }),
  'RFC 8725, JSON Web Tokens': countedFrom({ '3': 12 }),
  'RFC 9700, OAuth 2.0': [
    ...countedFrom({ '2': 6 }).filter((id) => id !== '2.2'),
    ...countedFrom({ '2.1': 2, '2.2': 2, '4': 17 }),
  ],
  'RFC 6265bis, Cookies': ['4.1.1', '4.1.3', ...countedFrom({ '4.1.2': 7, '4.2': 2, '7': 4, '8': 9 })].filter(
    (id) => id !== '8.8',
  ),
}

interface Row {
  readonly cells: readonly string[]
  /** The names of links to tests. */
  readonly tests: readonly string[]
}

const rows = tablesOf(page).flatMap(({ header, rows }) =>
  header.at(-1) === 'Test'
    ? rows.map(
        (cells): Row => ({ cells, tests: [...(cells.at(-1) ?? '').matchAll(/\[([^\]]+)\]/g)].map(at(1)) }),
      )
    : [],
)

describe('docs/security.md', () => {
  test.each(Object.keys(STANDARDS))('%s has a table that covers every requirement', (standard) => {
    const section = sectionOf(standard)
    const [table] = tablesOf(section)
    expect(table?.header).toEqual(['Requirement', 'In short', 'How', 'Test'])
    const [outOfScope = ''] = section.split('\n|')
    const named = [outOfScope, ...(table?.rows.map(([id = '']) => id) ?? [])]
    const ids = new Set(named.flatMap(idsIn))
    expect(STANDARDS[standard]?.filter((id) => !ids.has(id))).toEqual([])
  })

  test('each row names its tests, or says that it is not met', () => {
    expect(rows.length).toBeGreaterThan(200)
    const isUnmet = ({ cells }: Row) => cells.some((cell) => cell.startsWith('**Not met'))
    const untested = rows.filter((row) => row.tests.length === 0 && !isUnmet(row))
    expect(untested.map(({ cells }) => cells[0])).toEqual([])
    expect(rows.flatMap(({ tests }) => tests).filter((name) => !definitions.has(name))).toEqual([])
  })

  test('what is partly met says what is not', () => {
    const partly = rows.filter(({ cells }) => cells.some((cell) => cell.startsWith('**Partly')))
    expect(partly.length).toBeGreaterThan(0)
    expect(partly.filter(({ cells }) => !cells.some((cell) => /\*\*Not met/.test(cell)))).toEqual([])
  })

  test('each named test file exists', () => {
    expect([...definitions.values()].filter((path) => !existsSync(join(docs, path)))).toEqual([])
  })

  test('defines no test that it does not name', () => {
    const named = new Set(rows.flatMap(({ tests }) => tests))
    expect([...definitions.keys()].filter((name) => !named.has(name))).toEqual([])
  })

  test('says what each stolen credential gives, for how long, and what ends it', () => {
    const [table] = tablesOf(sectionOf('What stolen credentials give'))
    const columns = ['Stolen', 'What it gives', 'For how long', 'What ends it at once', 'Test']
    expect(table?.header).toEqual(columns)
    const stolen = table?.rows.map(([name = '']) => name.toLowerCase()).join('\n')
    for (const credential of ['jwt', 'cookie', 'socket', 'mailbox', 'database', 'key'])
      expect(stolen).toContain(credential)
    expect(table?.rows.filter((cells) => cells.slice(0, 4).includes(''))).toEqual([])
  })
})

/** The text below a heading, up to the next one. */
function sectionOf(heading: string): string {
  const [, text = ''] = page.split(new RegExp(`^#{2,3} ${heading.replaceAll('.', '\\.')}$`, 'm'))
  return text.split(/^#{2,3} /m)[0] ?? ''
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

/** The ids of requirements in a text; `6.5.1 to 6.5.8` stands for eight. */
function idsIn(text: string): string[] {
  return [...text.matchAll(/\b((?:\d+\.)+)(\d+)\b(?: to \1(\d+)\b)?/g)].flatMap(
    ([, section = '', first = '', last = first]) =>
      Array.from(
        { length: Number(last) - Number(first) + 1 },
        (_, place) => section + (Number(first) + place),
      ),
  )
}

/** `{ '2.4': 2 }` is `2.4.1` and `2.4.2`. */
function countedFrom(sections: Readonly<Record<string, number>>): string[] {
  return Object.entries(sections).flatMap(([section, count]) =>
    Array.from({ length: count }, (_, place) => `${section}.${place + 1}`),
  )
}

function at(place: number): (match: RegExpMatchArray) => string {
  return (match) => match[place] ?? ''
}
