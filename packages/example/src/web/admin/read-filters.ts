/** Reads the values of these names, without those that are missing or empty. */
export function readFilters<Name extends string>(
  search: URLSearchParams,
  names: readonly Name[],
): { [Key in Name]?: string } {
  const filters: { [Key in Name]?: string } = {}
  for (const name of names) {
    const value = search.get(name)?.trim()
    if (value) filters[name] = value
  }
  return filters
}
