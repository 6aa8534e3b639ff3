/** The longest pause between two attempts, in milliseconds. */
const LONGEST_MS = 30_000

/** How long to pause after so many attempts that got nowhere, in milliseconds: twice as long each time, and never all clients at once. */
export function backOff(attempts: number, retryAfterSeconds: number | null): number {
  const longest = Math.min(LONGEST_MS, 1_000 * 2 ** (attempts - 1))
  return Math.max(longest * (0.5 + Math.random() / 2), (retryAfterSeconds ?? 0) * 1_000)
}
