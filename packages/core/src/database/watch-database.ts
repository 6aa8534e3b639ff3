import type { Problem } from './schema/inspect.ts'

const HOUR_MS = 60 * 60 * 1000

/**
 * Inspects a database that was just opened, and every hour from then on. Repairs what is ours, and warns once
 * about each problem that remains.
 * @returns a function that stops it
 */
export async function watchDatabase(
  { inspect, repair }: { inspect: () => Promise<Problem[]>; repair: () => Promise<unknown> },
  everyMs: number = HOUR_MS,
): Promise<() => void> {
  let reported = new Set<string>()

  function report(problems: readonly Problem[]): void {
    for (const { problem, fix } of problems)
      if (!reported.has(problem)) console.warn(`sallyport: ${problem} ${fix}`)
    // A problem that comes back is reported again.
    reported = new Set(problems.map(({ problem }) => problem))
  }

  async function check(): Promise<void> {
    const problems = await inspect()
    if (problems.every(({ problem }) => reported.has(problem))) return report(problems)
    // What can't be repaired is still a problem in the second inspection.
    await repair().catch(() => {})
    report(await inspect())
  }

  // If the database can't be read now, the next check can.
  const timer = setInterval(() => void check().catch(() => {}), everyMs).unref()
  // Between two steps of another process that starts, a trigger may be missing.
  await check().catch(() => {})
  return () => clearInterval(timer)
}
