/**
 * `pnpm bench:peers`: compares servers whose procedures are guarded by Sallyport, Better Auth, Auth.js, or
 * code by hand. Each has its own process, and they take turns. Prints the tables of `docs/comparison.md` as
 * ratios: median, lowest, and highest round. `--chart` also draws `docs/images/peers.svg`, and
 * `--quick` only tries everything. Run it on a quiet machine, or the rates mean little.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../../packages/core/test/support/embedded-postgres.ts'
import { browserBytes } from './browser-bytes.ts'
import { drawRates } from './draw-rates.ts'
import { installPeers } from './install-peers.ts'
import { measureInTurn, type Target, WORKLOAD_NAMES } from './measure-rates.ts'
import { measureStart, type Start } from './measure-starts.ts'
import { type DatabaseName, PEER_NAMES, type PeerName, type ServerName } from './peers.ts'
import { type Comparison, printRates, printRest } from './print-tables.ts'
import { type Probed, probeChecks } from './probe-checks.ts'
import { isPinned, seedPeer, startPeer } from './start-peer.ts'

const SIZES = process.argv.includes('--quick')
  ? { sessions: 64, starts: 1, rates: { rounds: 2, runMs: 100, maxWarmMs: 300 } }
  : { sessions: 1_000, starts: 3, rates: { rounds: 5, runMs: 1_000, maxWarmMs: 6_000 } }

const root = mkdtempSync(join(tmpdir(), 'bench-peers-'))
const { folder, versions } = installPeers(root)
const postgres = await startPostgres()
const peers = []
for (const database of ['SQLite', 'PostgreSQL'] as const satisfies DatabaseName[])
  for (const name of PEER_NAMES) {
    const databaseUrl =
      database === 'SQLite' ? `file:${join(folder, `${name}.db`)}` : await postgres.createDatabase(name)
    const seeded = await seedPeer(name, { folder, databaseUrl, sessions: SIZES.sessions })
    const server = await startPeer(name, { folder, databaseUrl })
    peers.push({ name, database, databaseUrl, seeded, server })
  }
const cookies = peers[0]?.seeded.cookies ?? []
const bound = await startPeer('bound', { folder, databaseUrl: '' })

const comparisons: Comparison[] = []
const boundTarget: Target = { server: bound, cookies }
for (const workload of WORKLOAD_NAMES) {
  const targets = new Map<(typeof peers)[number] | null, Target>([
    [null, boundTarget],
    ...peers.map((peer) => [peer, { server: peer.server, cookies: peer.seeded.cookies }] as const),
  ])
  const rates = await measureInTurn(workload, targets, SIZES.rates)
  const bounds = rates.get(null) ?? []
  for (const peer of peers)
    comparisons.push({
      workload,
      peer,
      ratios: (rates.get(peer) ?? []).map((rate, round) => ({
        perSecond: rate.perSecond / (bounds[round]?.perSecond ?? Number.NaN),
        perProcessorSecond: rate.perProcessorSecond / (bounds[round]?.perProcessorSecond ?? Number.NaN),
      })),
    })
}
await bound.stop()
printRates(comparisons, 'perSecond')
if (process.argv.includes('--chart'))
  writeFileSync(
    fileURLToPath(new URL('../../docs/images/peers.svg', import.meta.url)),
    drawRates(comparisons),
  )

const onSqlite = peers.filter(({ database }) => database === 'SQLite')
const probed = new Map<PeerName, Probed>()
const starts = new Map<ServerName, Start[]>()
for (let round = 0; round < SIZES.starts; round++) {
  const servers = [
    ...onSqlite.map(({ name, databaseUrl, seeded }) => ({ name, databaseUrl, cookies: seeded.cookies })),
    { name: 'bound' as const, databaseUrl: '', cookies },
  ]
  for (const { name, databaseUrl, cookies } of servers) {
    const start = await measureStart(name, { folder, databaseUrl, cookies })
    starts.set(name, [...(starts.get(name) ?? []), start])
  }
}
for (const { name, server, seeded } of onSqlite) probed.set(name, await probeChecks(server, seeded))

printRest({ starts, probed, bytes: await browserBytes() })
const day = new Date().toLocaleDateString('en-GB', { dateStyle: 'long' })
console.log(`\n${day}, Node ${process.versions.node}, ${versions.join(', ')}.`)
console.log(`\nNot in the document: ${isPinned ? 'pinned' : 'not pinned'}, load ${loadavg()[2]?.toFixed(1)}`)
printRates(comparisons, 'perProcessorSecond')
await postgres.stop()
rmSync(root, { recursive: true })
process.exit()
