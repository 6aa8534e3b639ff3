import type { Edit } from '../edits.ts'
import type { Source } from '../sources.ts'
import { addImports, replaceMatch } from './replace-match.ts'
import type { Named } from './route.ts'
import { specifierOf } from './trpc-files.ts'

const ADAPTER = /^import type \{ FetchCreateContextFnOptions \} from .*$/m
const TYPE = 'FetchCreateContextFnOptions|\\{\\s*headers: Headers;?\\s*\\}'

interface ContextOptions extends Pick<Named, 'name'> {
  /** The path of the context that `init` writes. */
  readonly contextPath: string
}

/** Passes a request's user through the function that creates the app's context. */
export function contextEdit({ path, text }: Source, { name, contextPath }: ContextOptions): Edit {
  // `name = async (`, `function name(`, or `name = cache(async (`.
  const start = `\\b${name}\\b[^\\n(]*(?:\\([^\\n()]*)?\\(`
  const creator = new RegExp(
    `(${start})(?:(\\w+)\\??: (?:${TYPE}))?\\)([\\s\\S]*?(?:\\breturn |=> \\()\\{)(\\s*)`,
  )
  const found = creator.exec(text)
  const parameter = found?.[2] ?? 'opts'
  const [code = ''] = text.slice(found?.index).split(/^\}/m)
  // A page has no request. Each result would need the edit.
  const isUnknown =
    new RegExp(`\\b${parameter}\\.(req|resHeaders|info)\\b`).test(text) ||
    (code.match(/\breturn\b/g)?.length ?? 0) > 1
  const spread = text.includes(`...${parameter},`) ? '' : `...${parameter},`
  const ours = `import type { Context as RequestContext } from '${specifierOf(path, contextPath)}'`
  return {
    path,
    done: ': RequestContext)',
    replacements: [
      ADAPTER.test(text) ? replaceMatch(text, [ADAPTER, ''], () => ours) : addImports(text, [ours]),
      replaceMatch(isUnknown ? '' : text, [creator, `${name}(${parameter}) { return {`], (match) => {
        const [, before = `${name}(`, , body = ' { return {', space = ' '] = match
        return `${before}${parameter}: RequestContext)${body}${spread && `${space || ' '}${spread}`}${space}`
      }),
    ],
  }
}
