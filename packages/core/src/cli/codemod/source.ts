import { type ESTree, parseSync } from 'rolldown/utils'
import { type FunctionNode, memberOf, type Node, peel } from './nodes.ts'
import type { Binding } from './scopes.ts'

/** A file of the project. */
export interface Source {
  readonly path: string
  readonly text: string
  readonly program: ESTree.Program
  /** Returns what a name means at a node. Null for a global, or a name that is declared twice. */
  bindingAt(name: string, node: Node): Binding | null
  /** Returns the declaration of a name, also in another file. Null if that can't be said for certain. */
  find(name: string, node: Node): Found | null
}

/** A declaration and the file that has it. */
export interface Found {
  readonly source: Source
  readonly binding: Binding
}

/**
 * Parses with rolldown, which `doctor` needs too, so servers install no parser for a command they run once.
 * @throws Error at the first syntax error
 */
export function parseProgram(path: string, text: string): ESTree.Program {
  const lang = /\.[cm]?tsx?$/.test(path) ? (path.endsWith('x') ? 'tsx' : 'ts') : 'jsx'
  const { program, errors } = parseSync(path, text, { lang, preserveParens: false })
  const [error] = errors
  if (error !== undefined) throw new Error(error.message)
  return program
}

/** Part of the options that a procedure's function is called with, such as `ctx.session.user`. */
export interface Path {
  readonly fn: FunctionNode
  readonly keys: readonly string[]
}

/** Follows members and constants to the first parameter of a function. Null if that isn't certain. */
export function pathOf(source: Source, given: Node): Path | null {
  const node = peel(given)
  if (node.type === 'MemberExpression') {
    const key = memberOf(node)
    const object = pathOf(source, node.object)
    return key === null || object === null ? null : { ...object, keys: [...object.keys, key] }
  }
  if (node.type !== 'Identifier') return null
  const binding = source.bindingAt(node.name, node)
  if (binding?.kind === 'parameter') return binding
  // A declaration that uses itself would never end.
  if (binding?.kind !== 'value' || binding.init.end > node.start) return null
  const object = pathOf(source, binding.init)
  return object && { ...object, keys: [...object.keys, ...binding.keys] }
}

/** Returns the line of a node, from 1. */
export function lineOf({ text }: Source, { start }: Node): number {
  return text.slice(0, start).split('\n').length
}

export function textOf({ text }: Source, { start, end }: Node): string {
  return text.slice(start, end)
}

/** Returns the first line of a node, for a message. */
export function firstLineOf(source: Source, node: Node): string {
  const [line = '', ...more] = textOf(source, node).split('\n')
  return more.length > 0 ? `${line} …` : line
}
