import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { type OutputChunk, rolldown } from 'rolldown'

const CLIENT = JSON.stringify(fileURLToPath(new URL('../packages/trpc/src/client.ts', import.meta.url)))
const REACT = JSON.stringify(fileURLToPath(new URL('../packages/trpc/src/react.ts', import.meta.url)))

/** What an app imports. The links are in the entry of the client. */
const IMPORTS = {
  client: `export { AuthClientError, bearer, createAuthClient } from ${CLIENT}`,
  links: `export { authAwareRetry, authLink, subscriptionLink, webSocketLink } from ${CLIENT}`,
  react: `export * from ${REACT}`,
}

/** The peers of `@sallyport/trpc`: the app has them anyway. */
const PEERS = /^(react|@trpc\/|@tanstack\/)/

/** What a browser loads of us. */
export interface BrowserBundle {
  readonly code: string
  /** Minified and gzipped. */
  readonly bytes: number
  /** The files that contribute code, relative to the repository. */
  readonly files: readonly string[]
  /** What stays outside. */
  readonly imports: readonly string[]
}

/** Bundles everything that the entries of `@sallyport/trpc` export, without what is a peer of theirs. */
export async function bundleForBrowser(...names: (keyof typeof IMPORTS)[]): Promise<BrowserBundle> {
  const entry = 'virtual:entries'
  const build = await rolldown({
    input: entry,
    platform: 'browser',
    external: PEERS,
    // What cannot be resolved is in `imports`.
    onLog: () => {},
    plugins: [
      {
        name: 'entries',
        resolveId: (id) => (id === entry ? id : null),
        load: (id) => (id === entry ? names.map((name) => IMPORTS[name]).join('\n') : null),
      },
    ],
  })
  const { output } = await build.generate({ format: 'esm', minify: true, codeSplitting: false })
  await build.close()
  const [{ code, imports, modules }] = output
  return { code, bytes: gzipSync(code).byteLength, files: filesOf(modules), imports }
}

function filesOf(modules: OutputChunk['modules']): string[] {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const rendered = Object.entries(modules).filter(([, { renderedLength }]) => renderedLength > 0)
  return rendered.map(([file]) => file.replace(root, ''))
}
