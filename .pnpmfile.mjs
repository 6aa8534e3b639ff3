import { readFileSync } from 'node:fs'
import { basename } from 'node:path'

const { repository } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'))

/** Returns the addresses for a published manifest, from `repository` in the package.json of the workspace. */
function addressOf(folder) {
  if (repository === undefined) return {}
  const page = repository.url.replace(/^git\+|\.git$/g, '')
  return {
    repository: { ...repository, directory: `packages/${basename(folder)}` },
    homepage: `${page}#readme`,
    bugs: `${page}/issues`,
  }
}

export const hooks = {
  beforePacking: (manifest, folder) => ({ ...manifest, ...addressOf(folder) }),
}
