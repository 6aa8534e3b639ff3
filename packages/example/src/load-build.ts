import type * as Web from './web/entry-server.tsx'

/** The output of `vite build`. */
export const DIST = new URL('../dist/', import.meta.url)

interface Build {
  readonly web: typeof Web
  /** URLs. */
  readonly script: string
  readonly styles: readonly string[]
}

/** Loads the built pages. Only a request for a page needs the build. */
export async function loadBuild(): Promise<Build> {
  const [web, { default: manifest }] = await Promise.all([
    import(new URL('server/entry-server.js', DIST).href),
    import(new URL('client/.vite/manifest.json', DIST).href, { with: { type: 'json' } }),
  ]).catch((cause: unknown) => {
    throw new Error('The pages are not built. Run `npx -y pnpm start`.', { cause })
  })
  const entry: { readonly file: string; readonly css?: readonly string[] } =
    manifest['src/web/entry-client.tsx']
  return { web, script: `/${entry.file}`, styles: (entry.css ?? []).map((file) => `/${file}`) }
}
