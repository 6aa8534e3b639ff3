type Row = readonly (string | number)[]

/** Prints a Markdown table. */
export function printTable(head: Row, rows: readonly Row[]): void {
  const line = (cells: Row) => `| ${cells.map((cell) => cell.toLocaleString('en')).join(' | ')} |`
  console.log(['', line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n'))
}
