import type { Replacement } from '../edits.ts'

export const CLIENT: RegExp = /\blinks: \[[\s\S]*\bhttpBatch(?:Stream)?Link(?:<\w+>)?\(/

/** Returns replacements that add the user's credentials to a page's client; null if the client needs more. */
export function addToClient(text: string): { replacements: Replacement[]; imports: string } | null {
  // With an absolute URL, the page has another origin, or the client isn't in a page.
  if (/https?:\/\/|\b(?:fetch|headers|authLink|credentials)\b/.test(text.replaceAll(/^\s*\/\/.*$/gm, '')))
    return null
  const hasEvents = text.includes('httpSubscriptionLink(')
  const hasSockets = text.includes('createWSClient(')
  const links = [
    'authLink',
    ...(hasEvents ? ['subscriptionLink'] : []),
    ...(hasSockets ? ['webSocketLink'] : []),
  ]
  return {
    replacements: [
      [/\blinks: \[(\s*)/g, 'links: [$1authLink(authClient),$1'],
      [/\b(httpBatch(?:Stream)?Link(?:<\w+>)?\(\{)(\s*)/g, '$1$2fetch: authClient.fetch,$2maxItems: 20,$2'],
      ...(hasEvents ? EVENTS : []),
      ...(hasSockets ? SOCKETS : []),
    ],
    imports: `import { ${links.join(', ')} } from '@sallyport/trpc/client';\n`,
  }
}

const EVENTS: readonly Replacement[] = [
  [/\bhttpSubscriptionLink(?:<\w+>)?\((?=\{)/g, 'subscriptionLink(authClient, '],
  [/\bhttpSubscriptionLink,\s*|,\s*httpSubscriptionLink\b/g, ''],
]

/** `const client = createWSClient({ url })`, and `wsLink({ client })` */
const SOCKETS: readonly Replacement[] = [
  [/^(?:export )?const \w+ = createWSClient\((\{[^\n]*\})\);?$/gm, 'const socket = $1;'],
  [/\bwsLink(?:<\w+>)?\(\{\s*client(?:: \w+)?,?\s*\}\)/g, 'webSocketLink(authClient, socket)'],
  [/\bcreateWSClient,\s*|,\s*createWSClient\b/g, ''],
  [/\bwsLink,\s*|,\s*wsLink\b/g, ''],
]
