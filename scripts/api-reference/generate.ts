import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Application } from 'typedoc'
import { ENTRIES, NOTICE, PAGES, pageOf } from './entries.ts'
import { anchorsOf, linksOf, relink } from './links.ts'
import { tidy } from './tidy.ts'
import { typedocOptions } from './typedoc-options.ts'

// `pnpm reference` writes the API reference from the comments in the sources; with `--check` it says what of it is out of date.
const root = join(import.meta.dirname, '../..')
const folder = join(root, PAGES)
const { check } = parseArgs({ options: { check: { type: 'boolean', default: false } } }).values

const pages = await render()
const outdated = differences()
if (!check) write()
else if (outdated.length > 0) {
  console.error(
    `Not as the sources say:\n${outdated.map((name) => `  ${PAGES}/${name}\n`).join('')}Run pnpm reference`,
  )
  process.exitCode = 1
}

/** The pages by the names of their files. */
async function render(): Promise<Map<string, string>> {
  const out = mkdtempSync(join(tmpdir(), 'api-reference-'))
  process.on('exit', () => rmSync(out, { recursive: true }))
  const app = await Application.bootstrapWithPlugins({
    ...typedocOptions,
    entryPoints: ENTRIES.map(({ source }) => join(root, source)),
    outputs: [{ name: 'markdown', path: out }],
  })
  const entryPoints = app.getEntryPoints() ?? []
  // A page is named by what is imported, not by where that is.
  for (const [index, entryPoint] of entryPoints.entries()) {
    const entry = ENTRIES[index]
    if (entry) entryPoint.displayName = pageOf(entry)
  }
  const project = app.converter.convert(entryPoints)
  app.validate(project)
  await app.generateOutputs(project)
  if (app.logger.hasErrors() || app.logger.hasWarnings()) {
    console.error('Every name that is exported needs a comment, and every link a name that is exported')
    process.exit(1)
  }
  const raw = ENTRIES.map((entry) => ({
    entry,
    text: readFileSync(join(out, `${pageOf(entry)}.md`), 'utf8'),
  }))
  const linked = new Set(raw.flatMap(({ entry, text }) => linksOf(pageOf(entry), text)))
  const tidied = relink(new Map(raw.map(({ entry, text }) => [pageOf(entry), tidy(entry, text, linked)])))
  const anchors = new Set([...tidied].flatMap(([name, text]) => anchorsOf(name, text)))
  const broken = [...tidied]
    .flatMap(([name, text]) => linksOf(name, text))
    .filter((link) => !anchors.has(link))
  if (broken.length > 0) throw new Error(`Links that lead nowhere: ${broken.join(', ')}`)
  return new Map([
    ['README.md', index(tidied)],
    ...[...tidied].map(([name, text]) => [`${name}.md`, text] as const),
  ])
}

function index(texts: ReadonlyMap<string, string>): string {
  const names = [...texts].flatMap(([page, text]) =>
    [...text.matchAll(/^### (\w+)(?:\(\))?$/gm)].map(([, name = '']) => ({ name, page })),
  )
  const byName = names.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const rows = ENTRIES.map(
    (entry) => `| [\`${entry.name}\`](${pageOf(entry)}.md) | ${entry.purpose} | ${entry.runs} |`,
  )
  return `${NOTICE}# API reference

Every name that the packages export, by what it is imported from. The pages are made from the comments in the sources by
\`pnpm reference\`, and \`pnpm check\` fails where they are not what the sources say. What a refusal means, and what to do about it, is in
[errors.md](../errors.md).

| Import | What it is for | Runs in |
| --- | --- | --- |
${rows.join('\n')}

## Names

${byName.map(({ name, page }) => `[\`${name}\`](${page}.md#${name.toLowerCase()})`).join(' · ')}
`
}

function differences(): string[] {
  const names = new Set([...pages.keys(), ...readdirSync(folder)])
  return [...names].filter((name) => pages.get(name) !== written(name)).sort()
}

function written(name: string): string | undefined {
  try {
    return readFileSync(join(folder, name), 'utf8')
  } catch {
    return undefined
  }
}

function write(): void {
  for (const name of outdated) {
    const text = pages.get(name)
    if (text === undefined) rmSync(join(folder, name))
    else writeFileSync(join(folder, name), text)
  }
  console.log(`${PAGES}: ${outdated.length} of ${pages.size} pages changed`)
}
