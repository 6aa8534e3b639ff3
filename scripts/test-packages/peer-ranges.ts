import type { Library } from './pack-libraries.ts'

/** The ends of a range. */
export type End = 'lowest' | 'highest'

/** Returns a version of every peer, also optional ones. npm installs the highest that a range allows. */
export function peersAt(end: End, libraries: readonly Library[]): Record<string, string> {
  const ranges = Object.assign({}, ...libraries.map(({ manifest }) => manifest.peerDependencies))
  return Object.fromEntries(
    Object.entries<string>(ranges).map(([name, range]) => [name, end === 'lowest' ? lowest(range) : range]),
  )
}

/** Returns the required peers, for a project without the optional ones. */
export function requiredPeers(libraries: readonly Library[]): Record<string, string> {
  return Object.assign(
    {},
    ...libraries.map(({ manifest: { peerDependencies, peerDependenciesMeta } }) =>
      Object.fromEntries(
        Object.entries(peerDependencies).filter(([name]) => !peerDependenciesMeta[name]?.optional),
      ),
    ),
  )
}

/** Returns the other dependencies of the app. None of them is a peer. */
export function appDependencies(end: End, libraries: readonly Library[]): Record<string, string> {
  const { react } = peersAt(end, libraries)
  if (react === undefined) throw new Error('No library has the peer react. Update appDependencies.')
  return {
    // Each version works with one version of React.
    'react-dom': react,
    // No peer: npm would reject an app with another version of @trpc/react-query, even if it's missing.
    '@trpc/tanstack-react-query': end === 'lowest' ? '11.4.4' : '^11.4.4',
    '@hono/node-server': '^2.1.8',
    '@types/node': '^26.6.6',
    '@types/react': '^19.3.0',
    '@types/react-dom': '^19.3.0',
    '@types/ws': '^8.18.2',
    '@types/pg': '^8.23.1',
    eventsource: '^5.1.5',
    hono: '^4.13.19',
    ws: '^8.23.0',
    zod: '^4.6.0',
  }
}

/** Returns the first version of a range such as `^1.2.0`, `>=11.4.0 <12`, or `^2.0.0 || ^1.9.0`. */
function lowest(range: string): string {
  const versions = range.split(' || ').map((part) => {
    const [, version] = /^(?:\^|~|>=)(\d+\.\d+\.\d+)(?: <\S+)?$/.exec(part) ?? []
    if (version === undefined)
      throw new Error(`Each part of the range "${range}" must start with a full version, such as ^1.2.0`)
    return version
  })
  return versions.reduce((a, b) => (a.localeCompare(b, 'en', { numeric: true }) <= 0 ? a : b))
}
