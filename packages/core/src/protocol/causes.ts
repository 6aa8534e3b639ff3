/** Returns an error and its causes. An error may be its own cause, directly or through others. */
export function errorAndCauses(error: unknown): Error[] {
  const errors = new Set<Error>()
  for (let next = error; next instanceof Error && !errors.has(next); next = next.cause) errors.add(next)
  return [...errors]
}
