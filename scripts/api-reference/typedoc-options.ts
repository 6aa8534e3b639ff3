import { join } from 'node:path'
import type { TypeDocOptions } from 'typedoc'
import type { PluginOptions } from 'typedoc-plugin-markdown'

/** Methods of interfaces that ask for a part of something: a `Request`, a `QueryClient`, a procedure builder, an auth client. */
const DOCUMENTED_ELSEWHERE = [
  'core-auth.ApiOptions.request.__type.headers.__type.get',
  'core-auth.EndpointCallOptions.request.__type.headers.__type.get',
  'trpc-react.AuthQueryClient.cancelQueries',
  'trpc-react.AuthQueryClient.getMutationCache',
  'trpc-react.AuthQueryClient.getMutationCache.__type.getAll',
  'trpc-react.AuthQueryClient.clear',
  'trpc-react.HookClient.api.__type.getSession',
  'trpc-react.HookClient.getState',
  'trpc-react.HookClient.getServerState',
  'trpc-react.HookClient.subscribe',
  'trpc-react.HookClient.refresh',
  'trpc-react.HookClient.signOut',
  'trpc-ssr.PrefetchQueryClient.fetchQuery',
  'trpc-ssr.PrefetchQueryClient.fetchInfiniteQuery',
  'trpc-ssr.PrefetchQueryClient.removeQueries',
  'trpc-ssr.PrefetchQueryClient.clear',
  'trpc-action.ActionProcedure.use',
]

/** How the sources are read and how the pages look. */
export const typedocOptions = {
  plugin: ['typedoc-plugin-markdown'],
  tsconfig: join(import.meta.dirname, 'tsconfig.json'),
  sortEntryPoints: false,
  // The compiler that the project is checked with is another one.
  skipErrorChecking: true,
  logLevel: 'Warn',
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  disableSources: true,
  readme: 'none',
  packagesRequiringDocumentation: ['@sallyport/core', '@sallyport/trpc'],
  validation: { notExported: true, invalidLink: true, invalidPath: true, notDocumented: true },
  requiredToBeDocumented: ['Function', 'Variable', 'Class', 'Interface', 'TypeAlias', 'Accessor'],
  intentionallyNotDocumented: DOCUMENTED_ELSEWHERE,
  groupOrder: ['Functions', 'Classes', 'Variables', 'Interfaces', 'Type Aliases', 'References', '*'],
  sort: ['alphabetical'],
  router: 'module',
  hideBreadcrumbs: true,
  hidePageHeader: true,
  hidePageTitle: true,
  expandParameters: true,
  expandObjects: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  propertyMembersFormat: 'table',
  tableColumnSettings: {
    hideModifiers: true,
    hideInherited: true,
    hideOverrides: true,
    hideDefaults: true,
    hideValues: true,
  },
} satisfies TypeDocOptions & PluginOptions
