/**
 * Measures the cost of both steps as ratios within one run: a protected call against a public one over each
 * adapter, and both steps against the bare prepared statement. Prints medians of five runs that alternate
 * between the two.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import autocannon from 'autocannon'
import { WebSocket } from 'ws'
import { alternate, type Comparison } from '../../../bench/compare.ts'
import { bothSteps } from '../../core/bench/both-steps.ts'
import { firstMessage } from '../../core/test/support/first-message.ts'

const RUN_SECONDS = Number(process.env.BENCH_SECONDS ?? 3)
const CONCURRENCY = 32

interface Ready {
  readonly ports: Record<'node' | 'fetch' | 'ws', number>
  readonly cookies: readonly string[]
}

const server = fork(new URL('call-server.ts', import.meta.url), {
  stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
})
const { ports, cookies } = await firstMessage<Ready>(server)

print('protected call, Node HTTP adapter', 'public call', 'calls/s', 85, await overHttp(ports.node, ''))
print('protected call, fetch adapter', 'public call', 'calls/s', 75, await overHttp(ports.fetch, '/trpc'))
print('protected call, WebSocket', 'public call', 'calls/s', 65, await overWebSocket(ports.ws))
server.kill()
for (const { name, goal, comparison } of await bothSteps())
  print(name, 'bare statement', 'calls/s', goal, comparison)

/** Compares the rates of a protected and a public call with the same cookies. */
function overHttp(port: number, prefix: string): Promise<Comparison> {
  const rate = (procedure: string) => async () => {
    const result = await autocannon({
      url: `http://127.0.0.1:${port}${prefix}/${procedure}`,
      connections: CONCURRENCY,
      duration: RUN_SECONDS,
      headers: { cookie: cookies[0] ?? '' },
    })
    if (result.non2xx > 0 || result.errors > 0)
      throw new Error(`${result.non2xx} rejections, ${result.errors} errors`)
    return result.requests.total / result.duration
  }
  return alternate(rate('guarded'), rate('open'))
}

/** Compares the rates over 32 sockets with one call in flight on each. */
async function overWebSocket(port: number): Promise<Comparison> {
  const sockets = await Promise.all(cookies.slice(0, CONCURRENCY).map((cookie) => connect(port, cookie)))
  const rate = (path: string) => async () => {
    const frame = Buffer.from(JSON.stringify({ id: 1, method: 'query', params: { path } }))
    const endsAt = performance.now() + RUN_SECONDS * 1_000
    const calls = await Promise.all(sockets.map((socket) => callUntil(socket, frame, endsAt)))
    return calls.reduce((sum, count) => sum + count, 0) / RUN_SECONDS
  }
  const comparison = await alternate(rate('guarded'), rate('open'))
  for (const socket of sockets) socket.close()
  return comparison
}

async function connect(port: number, cookie: string): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, {
    headers: { cookie, origin: 'http://localhost:3000' },
  })
  await once(socket, 'open')
  return socket
}

function callUntil(socket: WebSocket, frame: Buffer, endsAt: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let count = 0
    socket.on('message', function onMessage(response: Buffer) {
      if (response.includes('"error"')) return reject(new Error(response.toString()))
      count++
      if (performance.now() < endsAt) return socket.send(frame, { binary: false })
      socket.off('message', onMessage)
      resolve(count)
    })
    socket.send(frame, { binary: false })
  })
}

function print(
  name: string,
  baseline: string,
  unit: string,
  goal: number | null,
  { rate, baselineRate, percent }: Comparison,
): void {
  const figures = `${Math.round(rate)} of ${Math.round(baselineRate)} ${unit}`
  const target = goal === null ? '' : `(goal ${goal.toFixed(0)})`
  const ratio = `${percent.toFixed(0).padStart(3)} % of a ${baseline} ${target}`
  console.log(`${name.padEnd(44)} ${ratio}   ${figures}`)
}
