/** Returns the powers of a base, from one to a limit. */
export function powers(base: 2 | 10, { from = 1, to }: { from?: number; to: number }): number[] {
  const found = []
  for (let power = from; power <= to; power *= base) found.push(power)
  return found
}
