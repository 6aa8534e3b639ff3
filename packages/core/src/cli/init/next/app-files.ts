import { sep } from 'node:path'
import { filesIn } from '../detect.ts'

/** A file in the folder `app`. */
interface AppFile {
  readonly path: string
  /** The path from `app` on, without route groups such as `(site)`, which aren't in URLs. */
  readonly route: string
}

/** Returns the file whose route matches. */
export function findAppFile(route: RegExp): AppFile | undefined {
  return [...filesIn('.')]
    .map((path) => path.replaceAll(sep, '/'))
    .map((path) => ({ path, route: path.replace(/^src\//, '').replaceAll(/\([^/]*\)\//g, '') }))
    .find((file) => route.test(file.route))
}
