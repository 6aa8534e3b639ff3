import type { ESTree } from 'rolldown/utils'
import type { Findings } from './findings.ts'
import type { Moves } from './move-guards.ts'
import { isFunction, type Node, nodesIn } from './nodes.ts'
import { type Source, textOf } from './source.ts'

/** Adds the imports of a file, and removes the guards and imports that only replaced code used. */
export function cleanUp(source: Source, { imports, replaced }: Moves, findings: Findings): void {
  for (const statement of source.program.body) {
    const name = guardIn(statement)
    if (name === null) continue
    if (statement.type === 'ExportNamedDeclaration' || isUsed(name, statement))
      findings.leave(source, statement, `"${name}" was replaced. Remove it when nothing else uses it.`)
    else findings.edit(source, withComment(source, statement), '')
  }
  const added = imports.get(source)
  if (added === undefined) return
  const declarations = source.program.body.filter((node) => node.type === 'ImportDeclaration')
  for (const declaration of declarations) removeUnused(declaration)
  addImports([...added].filter((name) => source.bindingAt(name, source.program) === null))

  /** Returns the name of a replaced guard if the statement declares it alone. */
  function guardIn(statement: Node): string | null {
    const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declaration?.type === 'FunctionDeclaration')
      return replaced.has(declaration) ? (declaration.id?.name ?? null) : null
    const [declarator, ...more] = declaration?.type === 'VariableDeclaration' ? declaration.declarations : []
    if (declarator?.id.type !== 'Identifier' || more.length > 0) return null
    const isGuard = [...nodesIn(declarator)].some((node) => isFunction(node) && replaced.has(node))
    return isGuard ? declarator.id.name : null
  }

  /** Returns whether a name is used outside of a statement and of replaced code. */
  function isUsed(name: string, except: Node): boolean {
    return usesOf(name).some(
      (node) => !(except.start <= node.start && node.end <= except.end) && !findings.isReplaced(source, node),
    )
  }

  function usesOf(name: string): Node[] {
    return [...nodesIn(source.program)].filter((node) => node.type === 'Identifier' && node.name === name)
  }

  function removeUnused(declaration: ESTree.ImportDeclaration): void {
    const { specifiers } = declaration
    const kept = specifiers.filter(
      ({ type, local: { name } }) =>
        type !== 'ImportSpecifier' ||
        !usesOf(name).some((node) => findings.isReplaced(source, node)) ||
        isUsed(name, declaration),
    )
    const [first, last] = [specifiers[0], specifiers.at(-1)]
    if (kept.length === specifiers.length || first?.type !== 'ImportSpecifier' || last === undefined) return
    const separator = textOf(source, declaration).includes('\n') ? ',\n  ' : ', '
    const text = kept.map((specifier) => textOf(source, specifier)).join(separator)
    if (kept.length > 0) findings.edit(source, { start: first.start, end: last.end }, text)
    else findings.edit(source, { start: declaration.start, end: afterLine(source, declaration.end) }, '')
  }

  function addImports(names: readonly string[]): void {
    const last = declarations.at(-1)
    if (last === undefined || names.length === 0) return
    const [quote, end] = [textOf(source, last.source)[0], textOf(source, last).endsWith(';') ? ';' : '']
    const text = `\nimport { ${names.toSorted().join(', ')} } from ${quote}@sallyport/trpc${quote}${end}`
    findings.edit(source, { start: last.end, end: last.end }, text)
  }
}

/** Returns the range of a statement with the comment right above it, and the empty lines after it. */
function withComment(source: Source, { start, end }: Node): { start: number; end: number } {
  const comment = /(?:\/\*(?:(?!\*\/)[\s\S])*\*\/[ \t]*\n|(?:[ \t]*\/\/[^\n]*\n)+)[ \t]*$/.exec(
    source.text.slice(0, start),
  )
  return { start: comment?.index ?? start, end: afterLine(source, end) }
}

function afterLine({ text }: Source, end: number): number {
  return end + (/^[ \t;]*(?:\r?\n)*/.exec(text.slice(end))?.[0].length ?? 0)
}
