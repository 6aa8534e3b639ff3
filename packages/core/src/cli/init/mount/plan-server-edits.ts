import { type Edit, planEdits, type Replacement } from '../edits.ts'
import { addImports, findSource, importOf, inStyle, type Place, type Source } from '../sources.ts'
import { ADAPTER, mountServer } from './adapters.ts'
import { addToContext, CONTEXT } from './mount-context.ts'
import { addToRouter, ROUTER } from './mount-router.ts'
import { CONTEXT_FILE } from './templates.ts'

interface ServerEdits {
  readonly edits: readonly Edit[]
  /** Files that not every app gets. */
  readonly files: Readonly<Record<string, string>>
  readonly server: Source | null
}

/** What changes in one file. A file can have the server, the context, and the router. */
interface Part {
  readonly source: Source
  readonly imports: readonly string[]
  readonly replacements: readonly Replacement[]
}

/** Plans the changes to the server's files; null unless `init` recognizes all of them. */
export function planServerEdits(sources: readonly Source[], place: Place): ServerEdits | null {
  const server = findSource(sources, ADAPTER)
  const router = findSource(sources, ROUTER)
  const contexts = sources.filter(({ text }) => CONTEXT.test(text))
  const isOther = (source: Source) =>
    source !== server && /\bWebSocketServer\(|\bapplyWSSHandler\(/.test(source.text)
  if (server === null || router === null || contexts.length > 1 || sources.some(isOther)) return null
  const [own = null] = contexts
  const parts = [
    planServerPart(server, place),
    own === null ? planNewContext(server, place) : planContextPart(own, place),
    planRouterPart(router, { own, place }),
  ].filter((part) => part !== null)
  if (parts.length < 3) return null
  const edits = toEdits(parts, place)
  if (planEdits(edits).byHand.length > 0) return null
  return { edits, files: own === null ? { 'context.ts': CONTEXT_FILE } : {}, server }
}

function toEdits(parts: readonly Part[], { extension }: Place): Edit[] {
  return [...new Set(parts.map(({ source }) => source))].map((source) => {
    const same = parts.filter((part) => part.source === source)
    const imports = addImports(...same.flatMap((part) => part.imports))
    const replacements = [imports, ...same.flatMap((part) => part.replacements)]
    return {
      path: source.path,
      done: '@sallyport/',
      replacements: inStyle(replacements, { text: source.text, extension }),
    }
  })
}

function planServerPart(source: Source, { folder }: Place): Part | null {
  const mounting = mountServer(source.text)
  if (mounting === null) return null
  const { replacements, imports } = mounting
  const usesConfig = replacements.some(([, after]) => /\bauthConfig\b/.test(after))
  const config = importOf('{ authConfig }', { from: source.path, to: `${folder}auth.config.ts` })
  const auth = importOf('{ auth }', { from: source.path, to: `${folder}auth-server.ts` })
  return { source, imports: [...imports, ...(usesConfig ? [config] : []), auth], replacements }
}

/** The app has no context, or an empty one. */
function planNewContext(source: Source, { folder }: Place): Part | null {
  const empty = /\bcreateContext(?:: (?:async )?\(\) => \(\{\}\)|\(\) \{\s*return \{\};?\s*\})/g
  const isMissing = !/\bcreateContext\b/.test(source.text)
  const imports = [importOf('{ createContext }', { from: source.path, to: `${folder}context.ts` })]
  return {
    source,
    imports,
    replacements: [
      isMissing ? [/\brouter(?:: \w+)?(?=[,\s])/g, '$&, createContext'] : [empty, 'createContext'],
    ],
  }
}

function planContextPart(source: Source, { folder }: Place): Part | null {
  const context = addToContext(source.text)
  if (context === null) return null
  const type = "import type { RequestContextOptions } from '@sallyport/trpc';\n"
  const auth = importOf('{ authContext }', { from: source.path, to: `${folder}auth-server.ts` })
  return { source, imports: [...(context.needsType ? [type] : []), auth], replacements: context.replacements }
}

function planRouterPart(
  source: Source,
  { own, place: { folder } }: { own: Source | null; place: Place },
): Part | null {
  const router = addToRouter(source.text)
  const isTyped = /\.context</.test(source.text)
  // Without a context, this type isn't the context's. With a context, the type must have a name.
  if (router === null || (own === null ? isTyped : !isTyped && !/export type Context\b/.test(own.text)))
    return null
  const ours = "import { authErrorData, sessionMiddleware } from '@sallyport/trpc';\n"
  const to = own?.path ?? `${folder}context.ts`
  const type = importOf('type { Context }', { from: source.path, to })
  return { source, imports: [ours, ...(isTyped || own === source ? [] : [type])], replacements: router }
}
