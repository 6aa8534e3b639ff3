/**
 * Measures what a guard costs against its bound: the same procedure behind an async middleware that does
 * nothing but add one member to the context. 32 connections, each with 62 sessions that no other one has.
 * Prints the median and the range of 61 short runs that take turns, in calls a second of a saturated server,
 * and in its processor time. On a shared machine, the processor time is the fairer one. With `--profile`,
 * prints which code takes that time instead.
 */
import { fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { AUTH_PATH, ENDPOINTS } from '@sallyport/core/internal/protocol'
import { median } from '../../../bench/compare.ts'
import { bothSteps } from '../../core/bench/both-steps.ts'
import { firstMessage } from '../../core/test/support/first-message.ts'
import { type Client, httpClient, httpRequest, webSocketClient } from './load.ts'
import type { Shares } from './profile.ts'

const RUN_MS = Number(process.env.BENCH_SECONDS ?? 0.15) * 1_000
const RUNS = 61
const CONNECTIONS = 32
const BATCH = 10

interface Ready {
  readonly ports: Record<'http' | 'ws', number>
  readonly cookies: readonly string[]
  readonly signIn: { readonly email: string; readonly password: string }
}

interface Variant {
  readonly name: string
  readonly clients: readonly Client[]
  /** The requests of each client. */
  readonly requests: readonly (readonly Buffer[])[]
  readonly callsPerRequest: number
}

interface Figures {
  readonly callsPerSecond: number
  /** Microseconds of processor time. */
  readonly processor: number
}

const isPinned = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0
if (isPinned) spawnSync('taskset', ['-acp', '1', String(process.pid)])
const server = fork(new URL('call-server.ts', import.meta.url), {
  stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  ...(isPinned && { execPath: 'taskset', execArgv: ['-c', '0', process.execPath] }),
})
const { ports, cookies, signIn } = await firstMessage<Ready>(server)

const numbers = Array.from({ length: CONNECTIONS }, (_, index) => index)
/** The cookies of each connection. */
const hands = numbers.map((index) => cookies.filter((_, i) => i % CONNECTIONS === index))
const overHttp = await Promise.all(numbers.map(() => httpClient(ports.http)))
const overWebSocket = await Promise.all(hands.map(([cookie = '']) => webSocketClient(ports.ws, cookie)))

const variants = [
  single('plain', '/plain/open'),
  single('single open', '/trpc/open'),
  single('single bound', '/trpc/bound'),
  single('single guarded', '/trpc/guarded'),
  ...['open', 'bound', 'guarded'].map((procedure) => ({
    ...single(`batch ${procedure}`, `/trpc/${Array(BATCH).fill(procedure).join()}?batch=1&input={}`),
    callsPerRequest: BATCH,
  })),
  ...['open', 'bound', 'guarded'].map((path) => ({
    name: `WebSocket ${path}`,
    clients: overWebSocket,
    requests: hands.map(() => [Buffer.from(JSON.stringify({ id: 1, method: 'query', params: { path } }))]),
    callsPerRequest: 1,
  })),
  single('token refresh', `${AUTH_PATH}${ENDPOINTS.token.path}`),
  {
    ...single('sign-in', ''),
    requests: hands.map(() => [
      httpRequest({ method: 'POST', path: `${AUTH_PATH}${ENDPOINTS.signInEmail.path}`, body: signIn }),
    ]),
  },
]
if (process.argv.includes('--profile')) {
  for (const variant of variants.filter(({ name }) => / (bound|guarded)$/.test(name))) await profile(variant)
  server.kill()
  process.exit(0)
}
const figures = await measureInTurn(variants)
server.kill()

console.log(`calls per second of one core, and its processor time; ${isPinned ? 'pinned' : 'not pinned'}`)
for (const { name } of variants) {
  const rate = rangeOf(figuresOf(name).map(({ callsPerSecond }) => callsPerSecond))
  const processor = rangeOf(figuresOf(name).map((each) => each.processor))
  console.log(name.padEnd(20), rate.map((each) => each.toFixed(0).padStart(7)).join(' '), 'calls/s ')
  console.log(''.padEnd(20), processor.map((each) => each.toFixed(1).padStart(7)).join(' '), 'µs')
}
console.log('\nas a fraction: median, lowest, highest of the calls per second; of the processor time; goal')
printFraction('single open', 'plain', 0.97)
for (const [transport, goal] of Object.entries({ single: 0.97, batch: 0.88, WebSocket: 0.82 })) {
  printFraction(`${transport} bound`, `${transport} open`)
  printFraction(`${transport} guarded`, `${transport} bound`, goal)
}
console.log('\nwithout tRPC')
for (const { name, goal, comparison } of await bothSteps())
  console.log(
    name.padEnd(44),
    (comparison.percent / 100).toFixed(2),
    `of the bare statement${goal === null ? '' : `, goal ${(goal / 100).toFixed(2)}`}`,
  )

function single(name: string, path: string): Variant {
  const requests = hands.map((hand) => hand.map((cookie) => httpRequest({ path, cookie })))
  return { name, clients: overHttp, requests, callsPerRequest: 1 }
}

/** Measures all in turn, after a turn to warm up. */
async function measureInTurn(variants: readonly Variant[]): Promise<Map<string, Figures[]>> {
  const figures = new Map(variants.map(({ name }) => [name, [] as Figures[]]))
  for (let run = -1; run < RUNS; run++)
    for (const variant of variants) {
      const measured = await measure(variant)
      if (run >= 0) figures.get(variant.name)?.push(measured)
    }
  return figures
}

async function measure({ clients, requests, callsPerRequest }: Variant): Promise<Figures> {
  const processorBefore = await processorTime()
  const startedAt = performance.now()
  const counts = await Promise.all(
    clients.map((client, index) => client(requests[index] ?? [], startedAt + RUN_MS)),
  )
  const seconds = (performance.now() - startedAt) / 1_000
  const calls = counts.reduce((sum, count) => sum + count, 0) * callsPerRequest
  return { callsPerSecond: calls / seconds, processor: ((await processorTime()) - processorBefore) / calls }
}

/** Prints the processor time of each origin of code, in microseconds for each call. */
async function profile(variant: Variant): Promise<void> {
  await measure(variant)
  await ask('start profile')
  const { processor } = await measure(variant)
  const shares = Object.entries(await ask<Shares>('end profile'))
  const texts = shares
    .toSorted(([, a], [, b]) => b - a)
    .map(([origin, share]) => `${origin} ${(share * processor).toFixed(1)} (${(share * 100).toFixed(0)} %)`)
  console.log(`${variant.name}: ${processor.toFixed(1)} µs`.padEnd(28), texts.join(', '))
}

async function processorTime(): Promise<number> {
  return Number(await ask('processor time'))
}

async function ask<Answer>(question: string): Promise<Answer> {
  server.send(question)
  const [answer] = await once(server, 'message')
  return answer
}

function figuresOf(name: string): readonly Figures[] {
  return figures.get(name) ?? []
}

function rangeOf(values: readonly number[]): number[] {
  return [median(values), Math.min(...values), Math.max(...values)]
}

/** Compares neighboring runs. */
function printFraction(name: string, baseline: string, goal?: number): void {
  const pairs = figuresOf(name).map((own, run) => ({ own, other: figuresOf(baseline)[run] ?? own }))
  const rates = rangeOf(pairs.map(({ own, other }) => own.callsPerSecond / other.callsPerSecond))
  const times = rangeOf(pairs.map(({ own, other }) => other.processor / own.processor))
  const columns = [rates, times].map((each) => each.map((value) => value.toFixed(2)).join(' '))
  console.log(`${name} of ${baseline}`.padEnd(36), columns.join('    '), goal?.toFixed(2) ?? '')
}
