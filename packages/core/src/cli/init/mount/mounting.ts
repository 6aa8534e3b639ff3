import type { Replacement } from '../edits.ts'

/** How to mount the auth endpoints on a server. */
export interface Mounting {
  readonly replacements: readonly Replacement[]
  /** Imports from packages. `init` also imports `auth`, and `authConfig` if the replacements use it. */
  readonly imports: readonly string[]
}

/** The WebSocket server of an app. */
export interface Sockets {
  /** Null without one. */
  readonly name: string | null
  readonly replacements: readonly Replacement[]
}

export const LISTENER_IMPORT = "import { getRequestListener } from '@hono/node-server';\n"
export const LISTENER =
  'getRequestListener((request, { incoming }) => auth.handler(request, incoming.socket))'

/** Options of tRPC's adapters. `$2` is the space between options. The app's own options come after. */
export const OPTIONS = 'responseMeta: authResponseMeta,$2...authHandlerOptions,$2'

export function ourImport(names: string, { name }: Sockets): string {
  return `import { ${names}, drain${name === null ? '' : ', webSocketOptions'} } from '@sallyport/trpc';\n`
}

/** Checks the keys and the database before the server listens, and closes all connections when it stops. */
export function startLines({ server, sockets }: { server: string; sockets: string | null }): string {
  const members = ['auth', ...(sockets === null ? [] : [named('sockets', sockets)]), named('server', server)]
  return `$1await auth.ready();\n$1process.once('SIGTERM', () => drain({ ${members.join(', ')} }));\n`
}

/** Returns whether a mounting has `startLines` where `await` is allowed. */
export function mayStart(text: string, { replacements }: Mounting): boolean {
  const [place = ''] = replacements.find(([, after]) => after.includes('await auth.ready()')) ?? []
  const index = text.search(place)
  let depth = indentOf(text.slice(index))
  // In formatted code, the last line with a smaller indent opens the block.
  for (const line of text.slice(0, index).split('\n').toReversed()) {
    if (/^\s*($|\/\/|\*|\/\*)/.test(line) || indentOf(line) >= depth) continue
    if (/\basync\b.*\{\s*$/.test(line)) return true
    if (!/^\s*(?:\} )?(?:if|else|try|catch|finally|for|while)\b.*\{\s*$/.test(line)) return false
    depth = indentOf(line)
  }
  return true
}

const indentOf = (text: string) => text.search(/[^ \t]|$/)

const named = (member: string, name: string) => (member === name ? name : `${member}: ${name}`)

/** Checks the origin of upgrades, and limits sockets and batches. */
export function mountSockets(text: string): Sockets {
  if (!/WebSocketServer|applyWSSHandler/.test(text)) return { name: null, replacements: [] }
  const name = /const (\w+) = new WebSocketServer\(/.exec(text)?.[1] ?? 'sockets'
  return {
    name,
    replacements: [
      // Last, because the app must not replace the check.
      [
        /new WebSocketServer\(\{([^{}]*?),?(\s*)\}\)/g,
        'new WebSocketServer({$1, ...webSocketOptions(authConfig)$2})',
      ],
      [/(applyWSSHandler\(\{)(\s*)/g, '$1$2...authHandlerOptions,$2'],
    ],
  }
}
