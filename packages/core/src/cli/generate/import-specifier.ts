import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join, relative, resolve } from 'node:path'

/** How an app writes the ends of its imports. */
export type ImportExtension = 'ts' | 'js' | 'none'

/** The endings that a compiler writes for those of TypeScript. */
const COMPILED: Readonly<Record<string, string>> = {
  '.ts': '.js',
  '.tsx': '.js',
  '.mts': '.mjs',
  '.cts': '.cjs',
}

/**
 * How a module in a folder imports another file.
 *
 * @param extension how the app writes its imports. @default as its tsconfig.json says
 */
export function importSpecifier(
  file: string,
  { from, extension = extensionOf(file) }: { from: string; extension?: ImportExtension | undefined },
): string {
  const path = relative(from, file).replaceAll('\\', '/')
  const ending = extname(path)
  const stem = path.slice(0, path.length - ending.length)
  const written = { ts: ending, js: COMPILED[ending] ?? ending, none: '' }[extension]
  return `${stem.startsWith('.') ? '' : './'}${stem}${written}`
}

/** `ts` where the compiler of the app takes imports that end so. */
function extensionOf(file: string): ImportExtension {
  const config = findUpwards('tsconfig.json', dirname(resolve(file)))
  return config !== null && takesTypeScriptEndings(config, new Set()) ? 'ts' : 'js'
}

function findUpwards(name: string, folder: string): string | null {
  const path = join(folder, name)
  if (existsSync(path)) return path
  return dirname(folder) === folder ? null : findUpwards(name, dirname(folder))
}

interface TsConfig {
  readonly extends?: string | readonly string[]
  readonly compilerOptions?: {
    readonly allowImportingTsExtensions?: boolean
    readonly rewriteRelativeImportExtensions?: boolean
  }
}

/** What a configuration says itself counts before what it extends, of which the last counts most. */
function takesTypeScriptEndings(path: string, seen: Set<string>): boolean | undefined {
  if (seen.has(path)) return undefined
  seen.add(path)
  const config = readConfig(path)
  const { allowImportingTsExtensions, rewriteRelativeImportExtensions } = config?.compilerOptions ?? {}
  const own = rewriteRelativeImportExtensions || allowImportingTsExtensions
  if (own !== undefined) return own
  for (const base of [config?.extends ?? []].flat().reverse()) {
    const file = resolveBase(base, path)
    const inherited = file === null ? undefined : takesTypeScriptEndings(file, seen)
    if (inherited !== undefined) return inherited
  }
  return undefined
}

/** The file that `extends` names; null where it is not there. */
function resolveBase(base: string, path: string): string | null {
  if (/^[./]/.test(base)) {
    const file = resolve(dirname(path), base)
    return [file, `${file}.json`].find((each) => extname(each) === '.json' && existsSync(each)) ?? null
  }
  try {
    return createRequire(path).resolve(/\.json$/.test(base) ? base : `${base}/tsconfig.json`)
  } catch {
    return null
  }
}

const TEXT = String.raw`"(?:\\.|[^"\\])*"`

/** A JSON file with comments and commas at the end; null where it is something else. */
function readConfig(path: string): TsConfig | null {
  const withoutComments = readFileSync(path, 'utf8').replaceAll(
    new RegExp(`(${TEXT})|//[^\\n]*|/\\*[\\s\\S]*?\\*/`, 'g'),
    '$1',
  )
  const json = withoutComments.replaceAll(new RegExp(`(${TEXT})|,(?=\\s*[}\\]])`, 'g'), '$1')
  try {
    return JSON.parse(json)
  } catch {
    return null
  }
}
