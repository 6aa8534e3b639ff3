import type { Source } from '../sources.ts'
import { resolveImport } from './trpc-files.ts'

/** An export of a module of the app. */
export interface Named {
  readonly name: string
  readonly path: string
}

/** What a route passes to `fetchRequestHandler`. */
export interface Route {
  readonly router: Named
  /** Null if the route creates no context. */
  readonly context: Named | null
  /** Other options, as text. */
  readonly rest: string
}

const OPTIONS = /\bfetchRequestHandler\(\{([\s\S]*)\}\);?\s*\}?;?\s*export\b/
/** The options that `createNextAuth` replaces, with their comments. */
const REPLACED =
  /(?:\/\*(?:(?!\*\/)[\s\S])*\*\/\s*)?\b(?:req|router: \w+|endpoint: ["']\/api\/trpc["']|createContext(?:: (?:\w+|\(\) => \w+\((?:\{\s*headers: req\.headers,?\s*\})?\)|\(\) => \(\{\}\)))?)\s*(?:,|$)\s*/g
const IMPORT = /^import (?:type )?\{([^}]*)\} from ["']([^"']+)["']/gm
const ADAPTERS = new Set(['@trpc/server/adapters/fetch', 'next/server'])

/** Reads tRPC's route; null if it does more than serve the router. */
export function readRoute({ path, text }: Source, folder: string): Route | null {
  const [, options] = OPTIONS.exec(text) ?? []
  if (options === undefined) return null
  const all = [...text.matchAll(IMPORT)]
  if (all.length !== text.match(/^import\b/gm)?.length) return null
  const imports = all.filter(([, , from = '']) => !ADAPTERS.has(from))
  const named = imports.flatMap(([, names = '', from = '']) =>
    names.split(',').flatMap((name) => {
      const resolved = resolveImport(path, from, folder)
      return name.trim() === '' ? [] : [{ name: name.trim(), path: resolved ?? '' }]
    }),
  )
  const [, router] = /\brouter: (\w+)/.exec(options) ?? []
  const [, context = 'createContext'] = /\bcreateContext: (?:\(\) => )?(\w+)/.exec(options) ?? []
  const used = named.filter(({ name }) => name === router || name === context)
  const rest = options.replaceAll(REPLACED, '').trim()
  // The rest moves to another file, where neither the request nor other imports exist.
  if (used.length < named.length || used.some((each) => each.path === '') || /\breq\b/.test(rest)) return null
  const [routerUsed] = used.filter(({ name }) => name === router)
  const [contextUsed = null] = used.filter(({ name }) => name === context)
  if (routerUsed === undefined) return null
  const isCreated = /\bcreateContext\b/.test(options) && !/\bcreateContext: \(\) => \(\{\}\)/.test(options)
  if (isCreated && contextUsed === null) return null
  return { router: routerUsed, context: contextUsed, rest }
}
