import { sep } from 'node:path'
import { filesIn } from '../detect.ts'

/**
 * Returns the path of the file in the folder `app` whose route matches: its path from `app` on, without route
 * groups such as `(site)`, which aren't in URLs.
 */
export function findAppFile(route: RegExp): string | undefined {
  return [...filesIn('.')]
    .map((path) => path.replaceAll(sep, '/'))
    .find((path) => route.test(path.replace(/^src\//, '').replaceAll(/\([^/]*\)\//g, '')))
}
