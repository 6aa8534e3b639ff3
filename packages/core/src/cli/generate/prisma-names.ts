/** Returns the name of a table's model, such as `KnownDevice`, or that of `set null`. */
export function modelName(table: string): string {
  return table.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_match, letter: string) =>
    letter.toUpperCase(),
  )
}
