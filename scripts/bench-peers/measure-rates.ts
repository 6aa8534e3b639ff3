import { type Client, httpClient, httpRequest, webSocketClient } from '../../packages/trpc/bench/load.ts'
import type { RunningPeer } from './start-peer.ts'

const CONNECTIONS = 32
const BATCH = 10
/** Microseconds of processor time to warm up a server. On a busy machine, `maxWarmMs` ends the warm-up. */
const WARM_PROCESSOR_TIME = 1_500_000

interface Duration {
  readonly rounds: number
  readonly runMs: number
  readonly maxWarmMs: number
}

/** A server with the cookies to call it with. */
export interface Target {
  readonly server: RunningPeer
  readonly cookies: readonly string[]
}

/** Calls per second, and per second of the server's processor time. */
export interface Rate {
  readonly perSecond: number
  readonly perProcessorSecond: number
}

interface Run extends Rate {
  /** In microseconds. */
  readonly processorTime: number
}

interface Workload {
  readonly callsPerRequest: number
  connect(port: number, cookie: string): Promise<Client>
  request(cookie: string): Buffer
}

export const WORKLOADS = {
  'HTTP, one call': http('guarded', 1),
  'HTTP, batch of ten': http(`${Array(BATCH).fill('guarded').join()}?batch=1&input={}`, BATCH),
  'WebSocket, as recommended': webSocket('guarded'),
  'WebSocket, checked per call': webSocket('checked'),
} as const satisfies Record<string, Workload>

export type WorkloadName = keyof typeof WORKLOADS

export const WORKLOAD_NAMES = Object.keys(WORKLOADS).filter((name): name is WorkloadName => name in WORKLOADS)

/** Measures a workload on each server in turn. Each round starts with another one, so a drift hits all. */
export async function measureInTurn<Key>(
  workload: WorkloadName,
  targets: ReadonlyMap<Key, Target>,
  { rounds, runMs, maxWarmMs }: Duration,
): Promise<Map<Key, Rate[]>> {
  const loads = await Promise.all(
    [...targets].map(async ([key, target]) => [key, await prepare(workload, target)] as const),
  )
  const rates = new Map<Key, Rate[]>(loads.map(([key]) => [key, []]))
  for (const [, load] of loads) await warmUp(load, { runMs, maxWarmMs })
  for (let round = 0; round < rounds; round++) {
    const first = round % loads.length
    for (const [key, load] of [...loads.slice(first), ...loads.slice(0, first)]) {
      const rate = await load(runMs)
      rates.get(key)?.push(rate)
    }
  }
  return rates
}

async function warmUp(
  load: (runMs: number) => Promise<Run>,
  { runMs, maxWarmMs }: Omit<Duration, 'rounds'>,
): Promise<void> {
  const startedAt = performance.now()
  let processorTime = 0
  while (processorTime < WARM_PROCESSOR_TIME && performance.now() - startedAt < maxWarmMs)
    processorTime += (await load(runMs)).processorTime
}

async function prepare(
  name: WorkloadName,
  { server, cookies }: Target,
): Promise<(runMs: number) => Promise<Run>> {
  const workload: Workload = WORKLOADS[name]
  const hands = Array.from({ length: CONNECTIONS }, (_, hand) =>
    cookies.filter((_, i) => i % CONNECTIONS === hand),
  )
  const clients = await Promise.all(hands.map(([cookie = '']) => workload.connect(server.port, cookie)))
  const requests = hands.map((hand) => hand.map(workload.request))
  return async (runMs) => {
    const { processor: before } = await server.usage('processor')
    const startedAt = performance.now()
    const counts = await Promise.all(clients.map((client, i) => client(requests[i] ?? [], startedAt + runMs)))
    const seconds = (performance.now() - startedAt) / 1_000
    const { processor: after } = await server.usage('processor')
    const calls = counts.reduce((sum, count) => sum + count, 0) * workload.callsPerRequest
    const processorTime = after - before
    return { perSecond: calls / seconds, perProcessorSecond: (calls / processorTime) * 1e6, processorTime }
  }
}

function http(path: string, callsPerRequest: number): Workload {
  return {
    callsPerRequest,
    connect: httpClient,
    request: (cookie) => httpRequest({ path: `/trpc/${path}`, cookie }),
  }
}

function webSocket(path: string): Workload {
  return {
    callsPerRequest: 1,
    connect: webSocketClient,
    request: () => Buffer.from(JSON.stringify({ id: 1, method: 'query', params: { path } })),
  }
}
