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
import { type Block, type Document, ROOT } from './read-documents.ts'

/** A file of a page. */
interface Source {
  readonly document: string
  readonly name: string
  readonly text: string
  /** The line of the document that line 1 of the text would be. */
  readonly offset: number
}

type Files = ReadonlyMap<string, Source>

const RELATIVE_IMPORT = /(?:\bfrom|\bimport) '(\.[^']*)'/g

/** All other pages build on the files of these. If two define the same file, the later one wins. */
const COMMON_PAGES = ['README.md', 'docs/install.md', 'docs/protect.md']

/**
 * Compiles the TypeScript of all pages in one run and returns the errors, each with its page and line. A
 * page is a folder. An import resolves to a block of the page, a block of the common pages, or a file that
 * `sallyport generate` writes. If a page has two blocks of one name, later blocks see the second one.
 */
export async function compileBlocks(documents: readonly Document[]): Promise<string[]> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-documents-')))
  try {
    const project = makeProject(folder)
    const sources = writePages(project, documents)
    const files = [...sources.keys()]
    const faults = await compile(project, files, sources)
    // The compiler stops at syntax errors. Compile the other files without these, to report their errors too.
    const broken = new Set(
      faults.filter(({ fault }) => / error TS1\d{3}:/.test(fault)).map(({ file }) => file),
    )
    const parsed = files.filter((file) => !broken.has(file))
    if (broken.size > 0) faults.push(...(await compile(project, parsed, sources)))
    // Errors in a file of another page, or of an earlier state, are reported there.
    const reported = faults.filter(({ file }) => sources.has(file) || !file.startsWith(project))
    return [...new Set(reported.map(({ fault }) => fault))]
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
  const pages = documents.map((document) => ({ document, own: sourcesOf(document) }))
  const common = COMMON_PAGES.flatMap(
    (path) => pages.find(({ document }) => document.path === path)?.own ?? [],
  )
  const shared = new Map([...boundFiles(), ...common].map((source) => [source.name, source]))
  const sources = new Map<string, Source>()
  const write = (place: string, all: Files, kept: ReadonlySet<string>, reported: ReadonlySet<Source>) => {
    for (const name of kept) {
      const file = join(place, name)
      const source = all.get(name)
      const text = source?.text.replaceAll(RELATIVE_IMPORT, (specifier, path: string) => {
        const target = posix.join(dirname(name), path)
        if (kept.has(target) || !all.has(target)) return specifier
        const there = relative(dirname(file), join(project, 'shared', target))
        return specifier.replace(path, there.replaceAll('\\', '/'))
      })
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text ?? '')
      if (source && reported.has(source)) sources.set(file, source)
    }
  }
  write(join(project, 'shared'), shared, new Set(shared.keys()), new Set(shared.values()))
  for (const { document, own } of pages)
    stagesOf(own, shared).forEach(({ own, all }, stage) => {
      write(join(project, document.path, String(stage)), all, differentFrom(shared, all), new Set(own))
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
    'next/*': [join(ROOT, 'packages/trpc/node_modules/next/*.d.ts')],
  }
  const ambient = join(import.meta.dirname, 'ambient.d.ts')
  const settings = {
    extends: join(ROOT, 'tsconfig.base.json'),
    compilerOptions: { paths },
    files: [...files, ambient],
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(settings))
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  return (await runCompiler('-p', project)).map((error) => {
    const [, path = '', line = '', message = ''] = /^(.*)\((\d+),\d+\): (.*)$/.exec(error) ?? []
    const file = resolve(ROOT, path)
    const source = sources.get(file)
    return { file, fault: source ? `${source.document}:${source.offset + Number(line)}: ${message}` : error }
  })
}

/** Writes the declarations of a library into a folder, and returns where its entries are found there. */
async function emitDeclarations(
  library: string,
  main: string,
  folder: string,
): Promise<Record<string, string[]>> {
  const project = join(ROOT, 'packages', library, 'tsconfig.build.json')
  // With `isolatedDeclarations`, declarations don't depend on imports.
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

/** The file of `sallyport generate`, those that bind the definition, and modules that pages link to. */
const BOUND_FILES: Readonly<Record<string, readonly string[]>> = {
  'packages/example/src': ['generated/database.ts', 'get-auth.ts', 'session.ts'],
}

const boundFiles = (): Source[] =>
  Object.entries(BOUND_FILES).flatMap(([folder, names]) =>
    names.map((name) => {
      const text = readFileSync(join(ROOT, folder, name), 'utf8')
      return { document: name, name, text, offset: 0 }
    }),
  )

const sourcesOf = ({ path, blocks }: Document): Source[] =>
  blocks.filter(({ language }) => /^tsx?$/.test(language)).map((block) => toSource(path, block))

function toSource(document: string, { language, code, line, name }: Block): Source {
  // A name with another extension belongs to something else.
  const isNamed = name?.endsWith(`.${language}`) ?? false
  return {
    document,
    name: isNamed ? `${name}` : `block-${line}.${language}`,
    text: code,
    offset: line - 1,
  }
}

function firstOfEachName(sources: readonly Source[]): Files {
  return new Map(sources.toReversed().map((source) => [source.name, source]))
}

/** The files of a page, and the common files that import them. Other common files are compiled only once. */
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

/** The files of a page in each of its states. A block with the name of an earlier one starts a new state. */
function stagesOf(sources: readonly Source[], shared: Files): { own: readonly Source[]; all: Files }[] {
  const stages: Source[][] = [[]]
  for (const source of sources) {
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
