/** An entry of a package, and what its page and the index say of it. */
export interface Entry {
  /** What it is imported as. */
  readonly name: string
  /** Of the repository. */
  readonly source: string
  /** What it is for. */
  readonly purpose: string
  /** Where it may be imported. */
  readonly runs: string
}

/** Where the pages are, from the root of the repository. */
export const PAGES = 'docs/api'

/** What a page is called: `core-auth` for `@sallyport/core/auth`. */
export const pageOf = ({ name }: Pick<Entry, 'name'>): string =>
  name.replace('@sallyport/', '').replace('/', '-')

/** In the order of the index. What several entries export is described by the first of these, and the others link to it. */
export const ENTRIES: readonly Entry[] = [
  {
    name: '@sallyport/core',
    source: 'packages/core/src/index.ts',
    purpose: 'the two steps, the configuration, keys, errors and events',
    runs: 'Node, edge',
  },
  {
    name: '@sallyport/core/protocol',
    source: 'packages/core/src/protocol.ts',
    purpose: 'what both sides of the wire agree on: paths, headers, limits, reasons, shapes of answers',
    runs: 'everywhere',
  },
  {
    name: '@sallyport/core/auth',
    source: 'packages/core/src/auth.ts',
    purpose: 'the auth definition, the server of its endpoints, and what a plugin is made of',
    runs: 'Node',
  },
  {
    name: '@sallyport/core/plugins',
    source: 'packages/core/src/plugins.ts',
    purpose: '`emailPassword()`, `admin()` and `organization()`',
    runs: 'Node',
  },
  {
    name: '@sallyport/core/sqlite',
    source: 'packages/core/src/sqlite.ts',
    purpose: 'opens a SQLite database',
    runs: 'Node',
  },
  {
    name: '@sallyport/core/postgres',
    source: 'packages/core/src/postgres.ts',
    purpose: 'opens a PostgreSQL database',
    runs: 'Node',
  },
  {
    name: '@sallyport/core/testing',
    source: 'packages/core/src/testing.ts',
    purpose: 'an auth in memory with a clock that the test moves',
    runs: 'tests on Node',
  },
  {
    name: '@sallyport/core/address',
    source: 'packages/core/src/address.ts',
    purpose: 'the address of a client behind proxies',
    runs: 'Node, edge',
  },
  {
    name: '@sallyport/core/service',
    source: 'packages/core/src/service.ts',
    purpose: 'signed calls from one service to another',
    runs: 'Node, edge',
  },
  {
    name: '@sallyport/core/key-file',
    source: 'packages/core/src/key-file.ts',
    purpose: 'signing keys from a file that may change while the app runs',
    runs: 'Node',
  },
  {
    name: '@sallyport/trpc',
    source: 'packages/trpc/src/server.ts',
    purpose: 'contexts and middlewares of the procedures, and what a WebSocket server needs',
    runs: 'Node, edge',
  },
  {
    name: '@sallyport/trpc/client',
    source: 'packages/trpc/src/client.ts',
    purpose: 'the auth client: who is signed in, and the calls that change it',
    runs: 'browser, any other program',
  },
  {
    name: '@sallyport/trpc/links',
    source: 'packages/trpc/src/links.ts',
    purpose: 'tRPC links that refresh the JWT and send a call again, over HTTP, WebSocket and SSE',
    runs: 'browser, any other program',
  },
  {
    name: '@sallyport/trpc/react',
    source: 'packages/trpc/src/react.ts',
    purpose: 'provider, hooks and components',
    runs: 'browser, rendering on a server',
  },
  {
    name: '@sallyport/trpc/ssr',
    source: 'packages/trpc/src/ssr.ts',
    purpose: 'pages rendered on a server: who asks, what is prefetched, what the browser is told',
    runs: 'Node, edge',
  },
  {
    name: '@sallyport/trpc/runtime',
    source: 'packages/trpc/src/runtime.ts',
    purpose: '`getAuth`, runners and internal functions',
    runs: 'Node, edge',
  },
  {
    name: '@sallyport/trpc/action',
    source: 'packages/trpc/src/action.ts',
    purpose: 'the builder of procedures that call the auth api and have no database',
    runs: 'Node, edge',
  },
]

/** What each page begins with. */
export const NOTICE = '<!-- Made by `pnpm reference` from the comments in the sources: change those. -->\n\n'
