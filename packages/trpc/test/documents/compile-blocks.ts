import { execFile } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, posix, relative, resolve } from 'node:path'
import { type Block, type Document, type GivenFile, isBlock, ROOT, withGiven } from './read-documents.ts'

/** A file of a page, and where its lines stand in there. */
interface Source {
  readonly document: string
  readonly name: string
  readonly text: string
  /** The line of the document that line 1 of the text would be. */
  readonly offset: number
  /** Of the lines of the text, those that come from the block. */
  readonly first: number
  readonly last: number
}

type Files = ReadonlyMap<string, Source>

const RELATIVE_IMPORT = /(?:\bfrom|\bimport) '(\.[^']*)'/g

/**
 * Compiles the TypeScript of all pages in one go and returns what is wrong, each fault with page and line. A page is a folder; what
 * its blocks import is a block of the page, a file that it gives, a block of the README, or what `sallyport generate` writes. Where a
 * page has two blocks of one name, the later one counts for what comes after it.
 */
export async function compileBlocks(documents: readonly Document[]): Promise<string[]> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-documents-')))
  try {
    const project = makeProject(folder)
    const sources = writePages(project, documents)
    const files = [...sources.keys()]
    const faults = await compile(project, files, sources)
    // Where a file cannot be parsed the compiler looks no further: what is wrong elsewhere is to be told as well.
    const broken = new Set(
      faults.filter(({ fault }) => / error TS1\d{3}:/.test(fault)).map(({ file }) => file),
    )
    const parsed = files.filter((file) => !broken.has(file))
    if (broken.size > 0) faults.push(...(await compile(project, parsed, sources)))
    // What is wrong in a file of another page, or of an earlier state, is told where it is at home.
    const told = faults.filter(({ file }) => sources.has(file) || !file.startsWith(project))
    return [...new Set(told.map(({ fault }) => fault))]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A folder inside others, each with the packages of a workspace: what one lacks another one has. */
function makeProject(folder: string): string {
  return ['root', 'example', 'core', 'trpc'].reduce((parent, name) => {
    const child = join(parent, name)
    mkdirSync(child)
    const modules = join(ROOT, name === 'root' ? '' : `packages/${name}`, 'node_modules')
    symlinkSync(modules, join(child, 'node_modules'), 'junction')
    return child
  }, folder)
}

/** Writes each state of each page into a folder, and returns the files that are to be compiled. */
function writePages(project: string, documents: readonly Document[]): Map<string, Source> {
  const readme = documents.find(({ path }) => path === 'README.md')
  const shared = firstOfEachName([...boundFiles(), ...(readme ? sourcesOf(readme) : [])])
  const sources = new Map<string, Source>()
  for (const document of documents)
    stagesOf(document, shared).forEach(({ all, own }, stage) => {
      const isShared = document === readme && stage === 0
      const place = isShared ? join(project, 'shared') : join(project, document.path, String(stage))
      const kept = isShared ? new Set(all.keys()) : differentFrom(shared, all)
      for (const name of kept) {
        const file = join(place, name)
        const text = all.get(name)?.text.replaceAll(RELATIVE_IMPORT, (specifier, path: string) => {
          const target = posix.join(dirname(name), path)
          if (kept.has(target) || !all.has(target)) return specifier
          const there = relative(dirname(file), join(project, 'shared', target))
          return specifier.replace(path, there.replaceAll('\\', '/'))
        })
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, text ?? '')
      }
      for (const source of own) sources.set(join(place, source.name), source)
    })
  return sources
}

async function compile(
  project: string,
  files: readonly string[],
  sources: ReadonlyMap<string, Source>,
): Promise<{ file: string; fault: string }[]> {
  const paths = {
    // The sources of the libraries are checked elsewhere; readers have their declarations.
    ...(await emitDeclarations('core', 'index', join(project, '../core-declarations'))),
    ...(await emitDeclarations('trpc', 'server', join(project, 'trpc-declarations'))),
    // Next.js has no `exports`; its own bundler finds these.
    'next/*': [join(ROOT, 'node_modules/next/*.d.ts')],
  }
  const settings = { extends: join(ROOT, 'tsconfig.base.json'), compilerOptions: { paths }, files }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(settings))
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  return (await runCompiler('-p', project)).map((error) => {
    const [, path = '', line = '', message = ''] = /^(.*)\((\d+),\d+\): (.*)$/.exec(error) ?? []
    const file = resolve(ROOT, path)
    const source = sources.get(file)
    return { file, fault: source ? `${placeOf(source, Number(line))}: ${message}` : error }
  })
}

function placeOf({ document, offset, first, last }: Source, line: number): string {
  if (line < first) return `${document}:${offset + first} (in what it is given before, line ${line})`
  if (line > last) return `${document}:${offset + last} (in what it is given behind)`
  return `${document}:${offset + line}`
}

/** Writes the declarations of a library into a folder, and returns where its entries are found there. */
async function emitDeclarations(
  library: string,
  main: string,
  folder: string,
): Promise<Record<string, string[]>> {
  const project = join(ROOT, 'packages', library, 'tsconfig.build.json')
  // The build looks into the imports of each file; with `isolatedDeclarations` nobody has to.
  const errors = await runCompiler('-p', project, '--noCheck', '--noResolve', '--outDir', folder)
  if (errors.length > 0) throw new Error(errors.join('\n'))
  const name = `@sallyport/${library}`
  return { [name]: [join(folder, `${main}.d.ts`)], [`${name}/*`]: [join(folder, '*.d.ts')] }
}

function runCompiler(...args: readonly string[]): Promise<string[]> {
  const command = [
    join(ROOT, 'node_modules/typescript/bin/tsc'),
    ...args,
    '--pretty',
    'false',
    '--singleThreaded',
  ]
  return new Promise((resolve, reject) => {
    execFile(process.execPath, command, { cwd: ROOT, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const errors = stdout.split('\n').filter((line) => line.includes('error TS'))
      if (error !== null && errors.length === 0) reject(new Error(stdout + stderr, { cause: error }))
      else resolve(errors)
    })
  })
}

/** The file of `sallyport generate` and those that bind the definition, as the example has them. */
const boundFiles = (): Source[] =>
  ['generated/database.ts', 'get-auth.ts', 'session.ts'].map((name) => {
    const text = readFileSync(join(ROOT, 'packages/example/src', name), 'utf8')
    return { document: name, name, text, offset: 0, first: 1, last: Infinity }
  })

const sourcesOf = ({ path, parts }: Document): Source[] =>
  parts.filter((part) => !isBlock(part) || /^tsx?$/.test(part.language)).map((part) => toSource(path, part))

function toSource(document: string, part: Block | GivenFile): Source {
  if (!isBlock(part)) {
    const { name, code, line } = part
    return { document, name, text: code, offset: line - 1, first: 1, last: Infinity }
  }
  const { text, linesBefore } = withGiven(part)
  // A name with another ending is that of something else.
  const isNamed = part.name?.endsWith(`.${part.language}`) ?? false
  return {
    document,
    name: isNamed ? `${part.name}` : `block-${part.line}.${part.language}`,
    text,
    offset: part.line - 1 - linesBefore,
    first: linesBefore + 1,
    last: linesBefore + part.code.split('\n').length - 1,
  }
}

function firstOfEachName(sources: readonly Source[]): Files {
  return new Map(sources.toReversed().map((source) => [source.name, source]))
}

/** The files of a page, and those of the README that come to other types by them; the rest need not be compiled for each page anew. */
function differentFrom(shared: Files, all: Files): ReadonlySet<string> {
  const names = new Set([...all.keys()].filter((name) => all.get(name) !== shared.get(name)))
  const importsOne = ({ name, text }: Source) =>
    Array.from(text.matchAll(RELATIVE_IMPORT), ([, path = '']) => posix.join(dirname(name), path)).some(
      (target) => names.has(target),
    )
  for (let before = -1; before < names.size; ) {
    before = names.size
    for (const source of all.values()) if (importsOne(source)) names.add(source.name)
  }
  return names
}

/** The states of a page between two blocks of one name: what is new in each, and all files that there are then. */
function stagesOf(document: Document, shared: Files): { own: readonly Source[]; all: Files }[] {
  const stages: Source[][] = [[]]
  for (const source of sourcesOf(document)) {
    if (stages.at(-1)?.some(({ name }) => name === source.name)) stages.push([])
    stages.at(-1)?.push(source)
  }
  return stages.map((own, index) => {
    const before = stages.slice(0, index + 1).flat()
    const later = firstOfEachName(stages.slice(index + 1).flat())
    const all = new Map([...later, ...shared, ...before.map((source) => [source.name, source] as const)])
    return { own, all }
  })
}
