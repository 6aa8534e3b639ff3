import { printTable } from '../../bench/print-table.ts'
import { formatSpread } from '../../bench/spread.ts'
import { type Rate, WORKLOAD_NAMES, type WorkloadName } from './measure-rates.ts'
import type { Start } from './measure-starts.ts'
import { type DatabaseName, PEER_NAMES, PEERS, type PeerName, type ServerName } from './peers.ts'
import type { Probed } from './probe-checks.ts'

/** Rates of a peer relative to the bound, by round. */
export interface Comparison {
  readonly workload: WorkloadName
  readonly peer: { readonly name: PeerName; readonly database: DatabaseName }
  readonly ratios: readonly Rate[]
}

/** Prints calls per second, or per second of processor time, relative to the bound. */
export function printRates(comparisons: readonly Comparison[], unit: keyof Rate): void {
  const rows = WORKLOAD_NAMES.flatMap((workload) =>
    (['SQLite', 'PostgreSQL'] as const).map((database) => {
      const cells = PEER_NAMES.map((name) => {
        const found = comparisons.find(
          ({ peer, ...each }) =>
            each.workload === workload && peer.name === name && peer.database === database,
        )
        return formatSpread(found?.ratios.map((ratio) => ratio[unit]) ?? [])
      })
      return [`${workload}, ${database}`, ...cells]
    }),
  )
  const title = unit === 'perSecond' ? 'Calls per second' : 'Calls per second of processor time'
  printTable([title, ...PEER_NAMES.map((name) => PEERS[name])], rows)
}

interface Rest {
  readonly starts: ReadonlyMap<ServerName, readonly Start[]>
  readonly probed: ReadonlyMap<PeerName, Probed>
  readonly bytes: Partial<Record<PeerName, number>>
}

/** Prints the cold start and the memory relative to the bound, and the rest. */
export function printRest({ starts, probed, bytes }: Rest): void {
  const bound = starts.get('bound') ?? []
  const rows = PEER_NAMES.map((name) => {
    const compare = (what: keyof Start) =>
      formatSpread(
        (starts.get(name) ?? []).map((run, round) => run[what] / (bound[round]?.[what] ?? Number.NaN)),
      )
    return [
      PEERS[name],
      compare('ms'),
      compare('rss'),
      bytes[name] ?? 'none',
      probed.get(name)?.failure ?? '',
      probed.get(name)?.unchecked.join('; ') || 'nothing that was tried',
    ]
  })
  printTable(
    ['Setup', 'Cold start', 'Memory', 'Bytes in the browser', 'Database fails', "Doesn't check"],
    rows,
  )
}
