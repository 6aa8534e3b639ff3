import type { Edit, Replacement } from '../edits.ts'
import type { Source } from '../sources.ts'
import { addImports, replaceMatch } from './replace-match.ts'
import { specifierOf } from './trpc-files.ts'

const COMPONENT = /(\bfunction \w+\(\s*)(props|\{\s*children,?\s*\})(:\s*(?:Readonly<)?\{)(\s*)(?=children:)/
const CLIENT = /^( *)const \[\w+\] = useState\(\(\) =>\s+(?:\w+\.createClient|createTRPCClient)\b/m
const BATCH_LINK = /\bhttpBatch(?:Stream)?Link\(\{(\s*)(?![\s\S]*\b(?:fetch|maxItems)\b)/
const PROVIDER =
  /^( *)<(\w+\.Provider|TRPCProvider)\s[^>]*\bqueryClient=\{([^}]+)\}[^>]*>\n[\s\S]*?^\1<\/\2>\n/m

/** Returns the name of the component with the providers. */
export function providerName({ text }: Source): string | null {
  return /\bexport function (\w+)\(\s*(?:props|\{\s*children)\b/.exec(text)?.[1] ?? null
}

/** Adds the auth client to the links and providers of tRPC. */
export function userProviderEdit({ path, text }: Source, contextPath: string): Edit {
  const hasQueryClient = text.includes('new QueryClient(')
  const hasStream = /\bhttpSubscriptionLink\(/.test(text)
  const names = [
    ...(hasQueryClient ? ['authAwareRetry'] : []),
    'authLink',
    'createAuthClient',
    ...(hasStream ? ['subscriptionLink'] : []),
  ]
  const [, , props] = COMPONENT.exec(text) ?? []
  const user = props === 'props' ? 'props.user' : 'user'
  return {
    path,
    done: '@sallyport/trpc/client',
    replacements: [
      addImports(text, [
        `import { ${names.join(', ')} } from '@sallyport/trpc/client'`,
        "import { AuthProvider } from '@sallyport/trpc/react'",
        "import type { HydrationState } from '@sallyport/trpc/ssr'",
        `import type { auth } from '${specifierOf(path, contextPath)}'`,
      ]),
      ...(hasStream ? streamEdits(text) : []),
      replaceMatch(
        text,
        [COMPONENT, 'export function TRPCReactProvider(props: {'],
        ([, start = '', , type = '', space = '']) =>
          `${start}${props === 'props' ? 'props' : '{ children, user }'}${type}${space}user: HydrationState;${space || ' '}`,
      ),
      replaceMatch(
        text,
        [CLIENT, 'const [trpcClient] = useState(() =>'],
        ([before, indent = '']) =>
          `${indent}const [authClient] = useState(() => createAuthClient<typeof auth.api>({ hydrate: ${user} }));\n${before}`,
      ),
      replaceMatch(
        text,
        [/\blinks: \[(\s*)/, 'links: ['],
        ([before, space]) => `${before}authLink(authClient),${space || ' '}`,
      ),
      replaceMatch(
        text,
        [BATCH_LINK, 'httpBatchLink({'],
        ([before, space = ' ']) => `${before}fetch: authClient.fetch,${space}maxItems: 20,${space}`,
      ),
      ...(hasQueryClient ? [retryEdit(text)] : []),
      replaceMatch(text, [PROVIDER, '<TRPCProvider'], wrap),
    ],
  }
}

/** Stops retrying calls that the guards reject. */
export function queryClientEdit({ path, text }: Source): Edit {
  const ours = "import { authAwareRetry } from '@sallyport/trpc/client'"
  return { path, done: 'authAwareRetry', replacements: [addImports(text, [ours]), retryEdit(text)] }
}

function retryEdit(text: string): Replacement {
  if (text.includes('new QueryClient()'))
    return ['new QueryClient()', 'new QueryClient({ defaultOptions: { queries: authAwareRetry } })']
  return replaceMatch(
    text,
    [/\bqueries: \{(\s*)/, 'queries: {'],
    ([before, space]) => `${before}...authAwareRetry,${space || ' '}`,
  )
}

/** Replaces the link for subscriptions, and its import. */
function streamEdits(text: string): Replacement[] {
  return [
    replaceMatch(
      text,
      [/\bhttpSubscriptionLink,\s*|,\s*httpSubscriptionLink(?=\s*\})/, 'httpSubscriptionLink'],
      () => '',
    ),
    ['httpSubscriptionLink({', 'subscriptionLink(authClient, {'],
  ]
}

function wrap([element, indent = '', , queryClient = 'queryClient']: readonly string[]): string {
  const inner = element?.replaceAll(/^(?=.)/gm, '  ')
  return `${indent}<AuthProvider client={authClient} queryClient={${queryClient}}>\n${inner}${indent}</AuthProvider>\n`
}
