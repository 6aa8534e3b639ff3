import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { readIfExists } from '../changes.ts'
import { filesIn, SOURCE } from '../detect.ts'

/** A source file of the app. */
export interface Source {
  readonly path: string
  readonly text: string
}

/** The files of an app that follows tRPC's guides and examples. Null for a file that wasn't found. */
export interface TrpcFiles {
  readonly route: Source | null
  /** Has `initTRPC`. */
  readonly router: Source | null
  /** Has the links, and the component with the providers. */
  readonly provider: Source | null
  readonly queryClient: Source | null
  /** Has the proxy for server components. */
  readonly pages: Source | null
  readonly layout: Source | null
}

export function findTrpcFiles(folder: string): TrpcFiles {
  const sources = [...filesIn(folder)]
    .filter((path) => SOURCE.test(path))
    .map((path) => ({ path, text: readIfExists(path) ?? '' }))
  /** Returns the one file with this text. */
  function find(pattern: RegExp, start = folder): Source | null {
    const [found, ...others] = sources.filter(
      ({ path, text }) => !relative(start, path).startsWith('..') && pattern.test(text),
    )
    return others.length === 0 ? (found ?? null) : null
  }
  return {
    route: find(/\bfetchRequestHandler\(/, join(folder, 'app/api/trpc')),
    router: find(/\binitTRPC\b[\s\S]*\.create\(/),
    provider: find(/^['"]use client['"][\s\S]*\bhttpBatch(Stream)?Link\(/),
    queryClient: find(/\bnew QueryClient\(/),
    pages: find(/\bcreateTRPCOptionsProxy\([\s\S]*\bctx: \w+,/),
    layout: sources.find(({ path }) => path === join(folder, 'app/layout.tsx')) ?? null,
  }
}

/** Returns the path of the module in an import of a file, and null for a package. */
export function resolveImport(from: string, specifier: string, folder: string): string | null {
  const base = /^[~@]\//.test(specifier)
    ? join(folder, specifier.slice(2))
    : join(dirname(from), specifier.replace(/\.tsx?$/, ''))
  if (!/^[.~@]\.?\.?\//.test(specifier)) return null
  return ['.ts', '.tsx', '/index.ts'].map((end) => base + end).find((path) => existsSync(path)) ?? null
}

/** Returns how a file imports another one of the app. */
export function specifierOf(from: string, path: string): string {
  const specifier = relative(dirname(from), path)
    .replaceAll('\\', '/')
    .replace(/(\/index)?\.tsx?$/, '')
  return specifier.startsWith('.') ? specifier : `./${specifier}`
}
