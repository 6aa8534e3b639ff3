import { openPostgres, type PostgresAuthDatabase } from '@sallyport/core/postgres'
import pg from 'pg'
import type { Chart } from '../../../../bench/draw-chart.ts'
import { printTable } from '../../../../bench/print-table.ts'
import { percentile, spreadOf } from '../../../../bench/spread.ts'
import { fillPostgres, keyOf } from '../../../core/bench/many-sessions.ts'
import { startPostgres } from '../../../core/test/support/embedded-postgres.ts'
import { powers } from './powers.ts'

const COMMITS = 200

type Node = Pick<PostgresAuthDatabase<unknown>, 'revocations' | 'close'>

/** In milliseconds from sending the statement. */
interface Times {
  /** To every node. */
  readonly deliveries: number[]
  readonly commits: number[]
  /** Of the same statement without triggers. */
  readonly silentCommits: number[]
}

const COLUMNS = [
  { name: 'Delivery, p50', of: ({ deliveries }: Times) => percentile(deliveries, 50) },
  { name: 'Delivery, p99', of: ({ deliveries }: Times) => percentile(deliveries, 99) },
  { name: 'Commit, p50', of: ({ commits }: Times) => percentile(commits, 50) },
  {
    name: 'Commit without notification, p50',
    of: ({ silentCommits }: Times) => percentile(silentCommits, 50),
  },
]

/** Measures nodes in one process on one PostgreSQL while other clients revoke sessions, one at a time. */
export async function measureFeed(max: number): Promise<Chart> {
  // As in production, a commit waits for the disk. A node has up to 13 connections.
  const server = await startPostgres({ fsync: 'on', max_connections: String(max * 13 + 10) })
  const url = await server.createDatabase('feed')
  const nodes: Node[] = [await openPostgres(url)]
  const client = new pg.Client(url)
  // Runs no triggers, so nothing is notified.
  const silent = new pg.Client({ connectionString: url, options: '-c session_replication_role=replica' })
  await Promise.all([client.connect(), silent.connect()])
  const sizes = powers(2, { to: max })
  await fillPostgres(client, sizes.length * 2 * COMMITS)

  let next = 0
  const measured: { nodes: number; times: Times }[] = []
  for (const size of sizes) {
    while (nodes.length < size) nodes.push(await openPostgres(url))
    const times: Times = { deliveries: [], commits: [], silentCommits: [] }
    for (let i = 0; i < COMMITS; i++) {
      times.silentCommits.push(await revoke(next++, silent))
      const startedAt = performance.now()
      const deliveries = nodes.map((node) => delivery(next, node))
      times.commits.push(await revoke(next++, client))
      for (const at of await Promise.all(deliveries)) times.deliveries.push(at - startedAt)
    }
    measured.push({ nodes: size, times })
  }
  await Promise.all([client.end(), silent.end(), ...nodes.map(({ close }) => close())])
  await server.stop()

  printTable(
    ['Nodes', ...COLUMNS.map(({ name }) => `${name}, ms`)],
    measured.map(({ nodes, times }) => [nodes, ...COLUMNS.map(({ of }) => of(times).toFixed(2))]),
  )
  const panels = (['Delivery', 'Commit'] as const).map((title) => ({
    title,
    xLabel: 'nodes on one PostgreSQL',
    yLabel: 'ms after sending the revocation',
    xTicks: sizes,
    series: COLUMNS.filter(({ name }) => name.startsWith(title)).map(({ name, of }) => ({
      name,
      points: measured.map(({ nodes, times }) => ({ x: nodes, ...spreadOf([of(times)]) })),
    })),
  }))
  return { title: 'One revocation at a time', panels }
}

/** Resolves with the time at which the node learns that the session has changed. */
function delivery(index: number, { revocations }: Node): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const unsubscribe = revocations.subscribe(keyOf(index), () => resolve(performance.now()))
  return promise.finally(unsubscribe)
}

async function revoke(index: number, client: pg.Client): Promise<number> {
  const startedAt = performance.now()
  const { rowCount } = await client.query('delete from session where id = $1', [keyOf(index).sessionId])
  if (rowCount !== 1) throw new Error('A session was not found')
  return performance.now() - startedAt
}
