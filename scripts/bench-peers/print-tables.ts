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

/** Prints calls per second relative to the bound, and the same per second of processor time. */
export function printRates(comparisons: readonly Comparison[]): void {
  for (const unit of ['perSecond', 'perProcessorSecond'] as const) {
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
}

interface Rest {
  readonly starts: ReadonlyMap<ServerName, readonly Start[]>
  readonly probed: ReadonlyMap<PeerName, Probed>
  readonly bytes: Partial<Record<PeerName, number>>
}

/** Prints the start beyond a bare server relative to ours, memory relative to a bare server, and the rest. */
export function printRest({ starts, probed, bytes }: Rest): void {
  const bare = starts.get('bound') ?? []
  const own = starts.get('sallyport') ?? []
  const rows = PEER_NAMES.map((name) => {
    const runs = starts.get(name) ?? []
    const compare = (ratio: (start: Start, bare: Start, own: Start) => number) =>
      formatSpread(runs.map((run, round) => ratio(run, bare[round] ?? run, own[round] ?? run)))
    return [
      PEERS[name],
      compare((start, bare, own) => (start.ms - bare.ms) / (own.ms - bare.ms)),
      compare((start, bare) => start.rss / bare.rss),
      compare((start, bare) => start.heapUsed / bare.heapUsed),
      bytes[name]?.toLocaleString('en') ?? 'none',
      String(probed.get(name)?.failure ?? ''),
      probed.get(name)?.unchecked.join('; ') || 'nothing that we tried',
    ]
  })
  printTable(
    ['', 'Cold start', 'Memory', 'Heap', 'Bytes in the browser', 'Database fails', "Doesn't check"],
    rows,
  )
}
