import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { filesIn, SOURCE } from '../detect.ts'
import { findSource, readSource, type Source } from '../sources.ts'

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

/** The function of the app that creates the context of a page, as tRPC's guide passes it. */
const CONTEXT = '(?:async \\(\\) =>\\s*\\w+\\(\\{\\s*headers: await headers\\(\\),?\\s*\\}\\)|\\w+)'
export const PAGE_CONTEXT: RegExp = new RegExp(`\\bctx: ${CONTEXT},`)
/** The caller for server components, which an app may not have. */
export const PAGE_CALLER: RegExp = new RegExp(`\\bcreateCaller\\(\\s*${CONTEXT},?\\s*\\)`)
const PAGE_PROXY = new RegExp(`\\bcreateTRPCOptionsProxy\\([\\s\\S]*${PAGE_CONTEXT.source}`)

export function findTrpcFiles(folder: string): TrpcFiles {
  const sources = [...filesIn(folder)].filter((path) => SOURCE.test(path)).map(readSource)
  const routes = sources.filter(({ path }) => !relative(join(folder, 'app/api/trpc'), path).startsWith('..'))
  return {
    route: findSource(routes, /\bfetchRequestHandler\(/),
    router: findSource(sources, /\binitTRPC\b[\s\S]*\.create\(/),
    provider: findSource(sources, /^['"]use client['"][\s\S]*\bhttpBatch(Stream)?Link\(/),
    queryClient: findSource(sources, /\bnew QueryClient\(/),
    pages: findSource(sources, PAGE_PROXY),
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
