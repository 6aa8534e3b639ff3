import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { type OutputChunk, rolldown } from 'rolldown'

const CLIENT = JSON.stringify(fileURLToPath(new URL('../packages/trpc/src/client.ts', import.meta.url)))
const REACT = JSON.stringify(fileURLToPath(new URL('../packages/trpc/src/react.ts', import.meta.url)))

/** The imports of an app. The links are in the entry of the client. */
const IMPORTS = {
  client: `export { AuthClientError, createAuthClient } from ${CLIENT}`,
  links: `export { authAwareRetry, authLink, subscriptionLink, webSocketLink } from ${CLIENT}`,
  react: `export * from ${REACT}`,
  /** What an app without sensitive procedures and `useSession` imports of React. */
  provider: `export { AuthProvider, SignedIn, SignedOut, useAuth } from ${REACT}`,
  /** For programs without cookies. */
  bearer: `export { bearer } from ${CLIENT}`,
  /** For apps with Better Auth, which use its client instead of `createAuthClient`. */
  betterAuth: `export { betterAuthSession } from ${CLIENT}`,
}

/** The peers of `@sallyport/trpc`, which the app has anyway. */
const PEERS = /^(react|@trpc\/|@tanstack\/)/

/** The part of an app's bundle that isn't a peer. */
export interface BrowserBundle {
  readonly code: string
  /** Minified and gzipped. */
  readonly bytes: number
  /** The files that contribute code, relative to the repository. */
  readonly files: readonly string[]
  /** The imports that aren't bundled. */
  readonly imports: readonly string[]
}

/** Bundles parts of the browser entries of `@sallyport/trpc`, without their peers. */
export function bundleForBrowser(...names: (keyof typeof IMPORTS)[]): Promise<BrowserBundle> {
  return bundleModule(names.map((name) => IMPORTS[name]).join('\n'))
}

/** Bundles a module without React, tRPC, and TanStack Query. It imports files by absolute paths. */
export async function bundleModule(source: string): Promise<BrowserBundle> {
  const entry = 'virtual:entries'
  const build = await rolldown({
    input: entry,
    platform: 'browser',
    external: PEERS,
    // Unresolved imports are in `imports`.
    onLog: () => {},
    plugins: [
      {
        name: 'entries',
        resolveId: (id) => (id === entry ? id : null),
        load: (id) => (id === entry ? source : null),
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
