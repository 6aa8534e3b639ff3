/** The widest line of a generated file. */
const LINE_WIDTH = 110

/** How every generated file begins, whichever version has written it. */
export const ORIGIN = '// Written by "sallyport generate"'

/** The first line of every generated file. */
export const HEADER: string = `${ORIGIN}: change the auth definition and run that again.\n`

/** A text as TypeScript, in the quotes that leave it most readable. */
export function quote(text: string): string {
  const json = JSON.stringify(text)
  const single = text.split("'").length - 1
  const double = text.split('"').length - 1
  return single > double ? json : `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

/** The name of a member, in quotes where it needs some. */
export function memberName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name)
}

/** `import type { A, B } from 'package'`, with a line for each name where one line is too short. */
export function importTypes(names: readonly string[], from: string): string {
  const line = `import type { ${names.join(', ')} } from ${quote(from)}\n`
  if (line.length <= LINE_WIDTH + 1) return line
  return `import type {\n${names.map((name) => `  ${name},\n`).join('')}} from ${quote(from)}\n`
}

/** Lines between braces, one level further in. */
export function block(lines: readonly string[]): string {
  if (lines.length === 0) return '{}'
  return `{\n${lines.map((line) => `${line.replaceAll(/^(?=.)/gm, '  ')}\n`).join('')}}`
}

/** `name: { a: 1, b: 2 },` with a line for each member where one line is too short. */
export function objectMember(
  name: string,
  members: Readonly<Record<string, string>>,
  { indent }: { indent: number },
): string {
  const entries = Object.entries(members)
  const line = `${name}: { ${entries.map(([key, value]) => `${key}: ${value}`).join(', ')} },`
  if (line.length + indent <= LINE_WIDTH) return line
  const lines = entries.map(([key, value]) => {
    const member = `${key}: ${value},`
    return member.length + indent + 2 <= LINE_WIDTH ? member : `${key}:\n  ${value},`
  })
  return `${name}: ${block(lines)},`
}
