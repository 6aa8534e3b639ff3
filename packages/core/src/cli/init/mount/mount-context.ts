import type { Replacement } from '../edits.ts'

export const CONTEXT: RegExp = /(?:const createContext = |function createContext\()/

/** The head of the function: its parameters, and whether it returns an expression. */
const HEAD =
  /(?<start>const createContext = (?:async )?|(?:async )?function createContext)\((?<parameter>[^()]*)\)(?<arrow> =>)? (?<body>\(\{|\{)/

/**
 * Returns the replacements that add the session to the app's own `createContext`; null if it doesn't follow
 * tRPC's documentation.
 */
export function addToContext(text: string): { replacements: Replacement[]; needsType: boolean } | null {
  const head = HEAD.exec(text)
  if (head === null) return null
  const { start = '', parameter = '', arrow = '', body = '' } = head.groups ?? {}
  const passed = passOptions(parameter)
  const rest = text.slice(head.index + head[0].length)
  const [indent = ''] = /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', head.index) + 1)) ?? []
  const close = body === '({' ? '\\}\\)' : `^${indent}\\}`
  const end = rest.search(new RegExp(`${close};?(?: *//.*)?$`, 'm'))
  const code = end === -1 ? null : rest.slice(0, end)
  // Other members or results of the app could replace our members.
  if (passed === null || code === null || /\b(?:db|auth)\b/.test(code)) return null
  const results = code.match(/\breturn\b/g)?.length ?? 0
  const before = `${head[0]}${body === '({' ? '' : code.slice(0, code.indexOf('return {') + 8)}`
  if (body === '({' ? results > 0 : results !== 1 || !code.includes('return {')) return null
  const after = before.replace(head[0], `${start}(${passed.parameter})${arrow} ${body}`)
  const spread = `...authContext(${passed.argument})`
  const [space, next] = /^(\s*)(.)/.exec(text.slice(head.index + before.length))?.slice(1) ?? []
  return {
    replacements: [[before, next === '}' ? `${after} ${spread} ` : `${after}${space}${spread},`]],
    needsType: parameter === '',
  }
}

/** Returns the parameter of the function, and how to pass its options on. */
function passOptions(parameter: string): { parameter: string; argument: string } | null {
  if (parameter.trim() === '') return { parameter: 'options: RequestContextOptions', argument: 'options' }
  const [, name] = /^\s*(\w+): [^,]+,?\s*$/.exec(parameter) ?? []
  if (name !== undefined) return { parameter, argument: name }
  const [, members, type] = /^\s*\{([\w\s,]*)\}(: [\s\S]+?),?\s*$/.exec(parameter) ?? []
  if (members === undefined) return null
  const names = new Set([...members.split(',').map((member) => member.trim()), 'req', 'res', 'info'])
  names.delete('')
  return { parameter: `{ ${[...names].join(', ')} }${type}`, argument: '{ req, res, info }' }
}
