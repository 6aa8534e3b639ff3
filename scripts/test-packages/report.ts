/** Collects the results of all checks. */
export interface Report {
  /** Runs a check, prints its result, and continues if it fails. */
  check(peers: string, what: string, work: () => void): void
  /** Records the versions in a project, by name. */
  versions(peers: string, installed: Readonly<Record<string, string>>): void
  /** Prints two tables: versions and results. */
  print(): void
  hasFailed(): boolean
}

interface Row {
  readonly peers: string
  readonly what: string
  readonly result: 'ok' | 'FAILED'
  readonly seconds: number
}

export function createReport(): Report {
  const rows: Row[] = []
  const versions = new Map<string, Readonly<Record<string, string>>>()

  return {
    check(peers, what, work) {
      const start = performance.now()
      const isDone = attempt(work)
      const seconds = Math.round((performance.now() - start) / 100) / 10
      const result = isDone ? 'ok' : 'FAILED'
      rows.push({ peers, what, result, seconds })
      console.log(`${result.padEnd(6)} ${peers}, ${what} (${seconds} s)`)
    },
    versions: (peers, installed) => void versions.set(peers, installed),
    print() {
      const names = new Set([...versions.values()].flatMap((installed) => Object.keys(installed)))
      const byName = [...names].sort().map((name) => {
        const columns = [...versions].map(([peers, installed]) => [peers, installed[name]])
        return [name, Object.fromEntries(columns)]
      })
      console.table(Object.fromEntries(byName))
      console.table(rows)
    },
    hasFailed: () => rows.some(({ result }) => result === 'FAILED'),
  }
}

function attempt(work: () => void): boolean {
  try {
    work()
    return true
  } catch (error) {
    console.error(error)
    return false
  }
}
