import { extname } from 'node:path'
import { parseAst } from 'rolldown/parseAst'

type Statement = ReturnType<typeof parseAst>['body'][number]
type Variable = Extract<Statement, { type: 'VariableDeclaration' }>['declarations'][number]

/** An expression or function of a module, as the parser of the bundler has it. */
export type Expression = NonNullable<Variable['init']>

/** A name of another module; `*` is all of its names. */
export interface ImportedName {
  readonly source: string
  readonly name: string
}

/** What stands behind a name of a module. */
export type Binding =
  | ({ readonly kind: 'import' } & ImportedName)
  | { readonly kind: 'value'; readonly node: Expression }
  /** A member that was taken out of a value: `const { procedure } = t`. */
  | { readonly kind: 'member'; readonly name: string; readonly of: Expression }

/** The names of a module, as far as it takes to tell where a procedure builder comes from. Types are not among them. */
export interface Outline {
  /** What its top level declares and imports, by name. */
  readonly names: ReadonlyMap<string, Binding>
  /** What it exports, by the name outside. */
  readonly exports: ReadonlyMap<string, Binding | { readonly kind: 'name'; readonly name: string }>
  /** The modules of its `export * from`. */
  readonly stars: readonly string[]
}

const LANGUAGES: Record<string, 'ts' | 'tsx' | 'jsx'> = {
  '.ts': 'ts',
  '.mts': 'ts',
  '.cts': 'ts',
  '.tsx': 'tsx',
  '.jsx': 'jsx',
}

/** Reads the outline of a module from its source. */
export function outlineOf(code: string, file: string): Outline {
  const names = new Map<string, Binding>()
  const exports = new Map<string, Binding | { kind: 'name'; name: string }>()
  const stars: string[] = []
  const { body } = parseAst(code, { lang: LANGUAGES[extname(file)] ?? 'js', sourceType: 'module' }, file)

  for (const statement of body) {
    if (statement.type === 'ImportDeclaration') {
      for (const [name, binding] of importsOf(statement)) names.set(name, binding)
    } else if (statement.type === 'ExportAllDeclaration') {
      const { exported, source, exportKind } = statement
      if (exportKind === 'type') continue
      if (exported === null) stars.push(source.value)
      else exports.set(nameOf(exported), { kind: 'import', source: source.value, name: '*' })
    } else if (statement.type === 'ExportDefaultDeclaration') {
      const { declaration } = statement
      if (declaration.type !== 'TSInterfaceDeclaration')
        exports.set('default', { kind: 'value', node: declaration })
    } else if (statement.type === 'ExportNamedDeclaration') {
      const { declaration, specifiers, source, exportKind } = statement
      if (exportKind === 'type') continue
      for (const { local, exported, exportKind: kind } of specifiers) {
        if (kind === 'type') continue
        const name = nameOf(local)
        const binding =
          source === null
            ? { kind: 'name' as const, name }
            : { kind: 'import' as const, source: source.value, name }
        exports.set(nameOf(exported), binding)
      }
      for (const [name, binding] of declared(declaration)) {
        names.set(name, binding)
        exports.set(name, { kind: 'name', name })
      }
    } else {
      for (const [name, binding] of declared(statement)) names.set(name, binding)
    }
  }
  return { names, exports, stars }
}

function importsOf(
  statement: Extract<Statement, { type: 'ImportDeclaration' }>,
): (readonly [string, Binding])[] {
  if (statement.importKind === 'type') return []
  const source = statement.source.value
  return statement.specifiers.flatMap((specifier): (readonly [string, Binding])[] => {
    const local = specifier.local.name
    if (specifier.type === 'ImportNamespaceSpecifier') return [[local, { kind: 'import', source, name: '*' }]]
    if (specifier.type === 'ImportDefaultSpecifier')
      return [[local, { kind: 'import', source, name: 'default' }]]
    if (specifier.importKind === 'type') return []
    return [[local, { kind: 'import', source, name: nameOf(specifier.imported) }]]
  })
}

function declared(statement: Statement | null): (readonly [string, Binding])[] {
  if (statement?.type === 'VariableDeclaration') return statement.declarations.flatMap(variablesOf)
  if (statement?.type !== 'FunctionDeclaration' || statement.id === null) return []
  return [[statement.id.name, { kind: 'value', node: statement }]]
}

function variablesOf({ id, init }: Variable): (readonly [string, Binding])[] {
  if (init === null) return []
  if (id.type === 'Identifier') return [[id.name, { kind: 'value', node: init }]]
  if (id.type !== 'ObjectPattern') return []
  return id.properties.flatMap((property): (readonly [string, Binding])[] =>
    property.type === 'Property' && property.key.type === 'Identifier' && property.value.type === 'Identifier'
      ? [[property.value.name, { kind: 'member', name: property.key.name, of: init }]]
      : [],
  )
}

/** `a`, or the text of `'a-b'` in `export { a as 'a-b' }`. */
function nameOf(name: { name: string } | { value: string }): string {
  return 'name' in name ? name.name : name.value
}
