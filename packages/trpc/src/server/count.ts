/** Adds one to the count of a name. */
export function countUp(counts: Map<string, number>, name: string): number {
  const count = (counts.get(name) ?? 0) + 1
  counts.set(name, count)
  return count
}

/** Subtracts one. A name whose count is zero takes no memory. */
export function countDown(counts: Map<string, number>, name: string): void {
  const left = (counts.get(name) ?? 0) - 1
  if (left > 0) counts.set(name, left)
  else counts.delete(name)
}
