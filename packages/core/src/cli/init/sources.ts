import { posix, sep } from 'node:path'
import { readIfExists } from './changes.ts'
import { filesIn } from './detect.ts'
import type { Replacement } from './edits.ts'

/** A source file of the app. */
export interface Source {
  readonly path: string
  readonly text: string
}

/** The folder of our files in the app, with a slash at the end, and the ending of the app's imports. */
export interface Place {
  readonly folder: string
  readonly extension: string
}

export const readSource = (path: string): Source => ({ path, text: readIfExists(path) ?? '' })

/** Returns the TypeScript files of the app, except tests. */
export function readSources(): Source[] {
  const paths = [...filesIn('.')].map((path) => path.replaceAll(sep, '/'))
  return paths.filter((path) => /(?<!\.(?:d|test|spec))\.m?tsx?$/.test(path)).map(readSource)
}

/** Returns the file that matches, or null if none or several do. */
export function findSource(sources: readonly Source[], pattern: RegExp): Source | null {
  const [found, ...others] = sources.filter(({ text }) => pattern.test(text))
  return found !== undefined && others.length === 0 ? found : null
}

/** Returns the ending of the app's relative imports: `.ts`, `.js`, or nothing. */
export function importExtension(sources: readonly Source[]): string {
  const imports = sources.map(({ text }) => / from ['"]\.{1,2}\/[^'"\n]*?(\.[jt]s)?['"]/.exec(text))
  const [, extension = ''] = imports.find((found) => found !== null) ?? [null, '.ts']
  return extension
}

/** Replaces the endings of the relative imports in our own text. */
export const withExtension = (text: string, extension: string): string =>
  text.replaceAll(/( from '\.[^']*)\.ts'/g, `$1${extension}'`)

/** Returns an import of one file of the app in another. */
export function importOf(names: string, { from, to }: { from: string; to: string }): string {
  const path = posix.relative(posix.dirname(from), to)
  return `import ${names} from '${path.startsWith('.') ? path : `./${path}`}';\n`
}

/** Adds lines after leading imports such as `import 'dotenv/config'`, which must run first. */
export const addImports = (...lines: readonly string[]): Replacement => [
  /^(?:(?!import [^'"])[^\n]*\n)*/g,
  `$&${lines.join('')}`,
]

/** Adapts replacements to the file's style. They have single quotes, semicolons, and the ending `.ts`. */
export function inStyle(
  replacements: readonly Replacement[],
  { text, extension }: { text: string; extension: string },
): Replacement[] {
  const isDouble = / from "/.test(text)
  const hasSemicolons = /^import .*;$/m.test(text)
  return replacements.map(([before, after]) => {
    const ended = hasSemicolons ? after : after.replaceAll(/;$/gm, '')
    const imported = withExtension(ended, extension)
    return [before, isDouble ? imported.replaceAll("'", '"') : imported]
  })
}
