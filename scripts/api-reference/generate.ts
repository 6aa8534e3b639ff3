import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Application, type DeclarationReflection, ReflectionKind, type TypeDocOptions } from 'typedoc'
import type { PluginOptions } from 'typedoc-plugin-markdown'

// `pnpm reference` writes a page for each entry to docs/api. With the name of a package, as in `prepack`, it
// writes the pages of that package to its folder `api`. Fails if an exported value has no comment.
const root = join(import.meta.dirname, '../..')
const [only] = process.argv.slice(2)
const VALUES = ReflectionKind.Function | ReflectionKind.Variable | ReflectionKind.Class
const out = join(root, only === undefined ? 'docs/api' : `packages/${only}/api`)
rmSync(out, { recursive: true, force: true })

const entries = (only === undefined ? ['core', 'trpc'] : [only]).flatMap(publicEntries)
const options = {
  plugin: ['typedoc-plugin-markdown'],
  tsconfig: join(import.meta.dirname, 'tsconfig.json'),
  entryPoints: entries.map(({ source }) => source),
  outputs: [{ name: 'markdown', path: out }],
  sortEntryPoints: false,
  // `tsc` checks the project, with another version of the compiler.
  skipErrorChecking: true,
  logLevel: 'Warn',
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  disableSources: true,
  readme: 'none',
  name: '@sallyport',
  packagesRequiringDocumentation: ['@sallyport/core', '@sallyport/trpc'],
  validation: { notExported: only === undefined, invalidLink: true, invalidPath: true },
  router: 'module',
  hideBreadcrumbs: true,
  hidePageHeader: true,
  expandParameters: true,
  expandObjects: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  propertyMembersFormat: 'table',
  tableColumnSettings: { hideModifiers: true, hideInherited: true, hideOverrides: true, hideValues: true },
} satisfies TypeDocOptions & PluginOptions
const app = await Application.bootstrapWithPlugins({ ...options })
const entryPoints = app.getEntryPoints() ?? []
// Name pages after the entry that an app imports, not after the source file.
for (const [index, entryPoint] of entryPoints.entries()) entryPoint.displayName = entries[index]?.page ?? ''
const project = app.converter.convert(entryPoints)
app.validate(project)
for (const { children = [] } of project.getChildrenByKind(ReflectionKind.Module))
  for (const name of children.filter(isUndocumented)) app.logger.warn(`${name.getFullName()} has no comment`)
await app.generateOutputs(project)
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1

function isUndocumented({ comment, kind, signatures = [] }: DeclarationReflection): boolean {
  const hasComment = comment !== undefined || signatures.some((signature) => signature.comment)
  return !hasComment && (kind & VALUES) !== 0
}

/** Returns the public entries and the names of their pages: `core-auth` for `@sallyport/core/auth`. */
function publicEntries(folder: string): { source: string; page: string }[] {
  const manifest = JSON.parse(readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8'))
  return Object.entries<string>(manifest.exports)
    .filter(([entry]) => !entry.startsWith('./internal/'))
    .map(([entry, source]) => ({
      source: join(root, 'packages', folder, source),
      page: `${folder}${entry.slice(1)}`.replaceAll('/', '-'),
    }))
}
