import type { Edit } from '../edits.ts'
import { readSource, type Source } from '../sources.ts'
import { contextEdit } from './context-edit.ts'
import { addImports, replaceMatch } from './replace-match.ts'
import type { Named, Route } from './route.ts'
import { routerEdit } from './router-edit.ts'
import { PAGE_CALLER, PAGE_CONTEXT, specifierOf, type TrpcFiles } from './trpc-files.ts'
import { providerName, queryClientEdit, userProviderEdit } from './user-provider-edit.ts'

/** Serves the router, and the auth endpoints. */
export const ROUTES = `export { GET, OPTIONS, POST } from '../../../../server/next'\n`

/** The paths of the files that `init` writes and the edited files import. */
export interface NewFiles {
  readonly context: string
  readonly server: string
  readonly providers: string
}

/** The edits to an app with tRPC. */
export function trpcEdits(found: TrpcFiles, { context }: Route, files: NewFiles): Edit[] {
  const { route, router, provider, queryClient, pages, layout } = found
  const name = provider && providerName(provider)
  const edits = [
    route && { path: route.path, done: ROUTES, replacements: [[route.text, ROUTES]] as const },
    router && routerEdit(router, files.context),
    context && contextEdit(readSource(context.path), { ...context, contextPath: files.context }),
    provider && userProviderEdit(provider, files.context),
    queryClient && queryClient.path !== provider?.path ? queryClientEdit(queryClient) : null,
    pages && pagesEdit(pages, files.server),
    layout && name && layoutEdit(layout, { name, path: files.providers }),
  ]
  return merge(edits.filter((edit) => edit !== null && edit !== ''))
}

/** One file may have several of the parts. */
function merge(edits: readonly Edit[]): Edit[] {
  return [...Map.groupBy(edits, ({ path }) => path)].map(([path, [first, ...others]]) => ({
    path,
    done: first?.done ?? '',
    replacements: [first, ...others].flatMap((edit) => edit?.replacements ?? []),
  }))
}

/** Calls the router from server components for the user of the page. */
function pagesEdit({ path, text }: Source, server: string): Edit {
  return {
    path,
    done: 'pageContext',
    replacements: [
      addImports(text, [`import { pageContext } from '${specifierOf(path, server)}'`]),
      replaceMatch(text, [PAGE_CONTEXT, 'ctx: createTRPCContext,'], () => 'ctx: pageContext,'),
      ...(PAGE_CALLER.test(text)
        ? [replaceMatch(text, [PAGE_CALLER, ''], () => 'createCaller(pageContext)')]
        : []),
    ],
  }
}

/** Imports the providers from the file that passes the user to them. */
function layoutEdit({ path, text }: Source, { name, path: providers }: Named): Edit {
  const statement = new RegExp(`^(import \\{ ${name} \\} from )(["']).*?\\2`, 'm')
  const specifier = specifierOf(path, providers)
  return {
    path,
    done: specifier,
    replacements: [
      replaceMatch(
        text,
        [statement, `import { ${name} } from`],
        ([, start = `import { ${name} } from `, quote = "'"]) => `${start}${quote}${specifier}${quote}`,
      ),
    ],
  }
}
