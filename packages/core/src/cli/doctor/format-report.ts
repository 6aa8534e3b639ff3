import type { DoctorReport, ModuleReport } from './examine.ts'

/** A report as a person reads it: a line for each module, then each violation with its imports. */
export function formatReport({ modules, violations }: DoctorReport): string {
  const table = align([
    ['module', 'auth definition', 'minified', 'gzipped', 'brought in by'],
    ...modules.map(rowOf),
  ])
  const told = violations.map(({ chain, fix }) => {
    const [first = '', ...rest] = chain
    return [
      `${first} must not carry the auth definition:`,
      ...rest.map((file) => `  imports ${file}`),
      fix,
    ].join('\n')
  })
  return [table, ...told, verdict(violations.length)].join('\n\n')
}

function rowOf({ file, carriesDefinition, minified, gzipped, chain }: ModuleReport): string[] {
  const path = chain.slice(1).join(' > ')
  return [file, carriesDefinition ? 'carried' : 'no', kilobytes(minified), kilobytes(gzipped), path]
}

/** Thousands of bytes. */
function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} kB`
}

function verdict(count: number): string {
  if (count === 0) return 'The auth definition is carried by those modules alone that may.'
  return count === 1 ? '1 violation' : `${count} violations`
}

/** Rows as columns; figures stand to the right. */
function align(rows: readonly (readonly string[])[]): string {
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0))
  const isFigure = (column: number) => column === 2 || column === 3
  return rows
    .map((row) =>
      row
        .map((cell, column) => (isFigure(column) ? cell.padStart(width(column)) : cell.padEnd(width(column))))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
