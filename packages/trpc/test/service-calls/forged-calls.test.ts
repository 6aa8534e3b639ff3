import { afterAll, expect, test } from 'vitest'
import { createRandom, type Random } from '../../../core/test/hostile/random.ts'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import { createActors, ENDINGS } from './actors.ts'
import { type Call, type CallAnswer, createCall, MUTATIONS, OWN, send } from './call.ts'
import { FORGERIES } from './forgeries.ts'
import { openNodes, type ServiceNode } from './open-nodes.ts'

/** `pnpm test:service-calls` forges 20,000. */
const FORGED_CALLS = Number(process.env.FORGED_CALLS ?? 500)
const SEED = process.env.SERVICE_CALLS_SEED ?? 'sallyport'
/** One in this many calls is valid, uses a real connection, or gets a node that has just restarted. */
const [CONTROL_EVERY, OVER_HTTP_EVERY, RESTART_EVERY] = [8, 10, 500]

const START = Date.UTC(2026, 10, 21, 10)
const random = createRandom(`${SEED} nodes`)
const directory = temporaryDirectory()
const scene = await openNodes(directory, { random, now: () => new Date(time) })
const actors = await createActors(scene.tables, random, START)
let time = START
afterAll(() => scene.close())

/** A call, and its expected result. */
interface Attempt {
  readonly kind: string
  readonly call: Call
  readonly answer: CallAnswer
  readonly expected: CallAnswer
  /** How often the call may have run by now. */
  readonly executions: 0 | 1
}

const EXECUTED: CallAnswer = { status: 200, code: null }
const REPLAYED: CallAnswer = { status: 401, code: 'TOKEN_REPLAYED' }

test(`of ${FORGED_CALLS} forged, replayed, expired, and misdirected service calls none runs, and every control does`, {
  timeout: 60_000 + FORGED_CALLS * 20,
}, async () => {
  const source = createRandom(`${SEED} calls`)
  const forged: Record<string, number> = {}
  const controls: Record<string, number> = {}
  const kinds = [...FORGERIES.map((forgery) => () => forge(forgery, source)), ...FURTHER]
  let sent = 0

  for (let number = 0; sent < FORGED_CALLS; number++) {
    time += source.below(2_000)
    // Often starts on a whole second, to test the exact moment of expiry.
    if (source.chance(0.5)) time = Math.ceil(time / 1_000) * 1_000
    if (number % RESTART_EVERY === RESTART_EVERY - 1) await scene.restart(source.pick([0, 1]))
    const attempts =
      number % CONTROL_EVERY === 0
        ? await source.pick(CONTROLS)(source)
        : // Each kind in turn, so all are covered.
          await (kinds[sent % kinds.length] ?? kinds[0])?.(source)
    for (const { kind, call, answer, expected, executions } of attempts ?? []) {
      const where = { SERVICE_CALLS_SEED: SEED, number, kind, call: JSON.stringify(call.claims) }
      expect({ ...where, ...answer, executions: executionsOf(call) }).toEqual({
        ...where,
        ...expected,
        executions,
      })
      const isControl = expected.code === null
      if (!isControl) sent++
      const counts = isControl ? controls : forged
      counts[kind] = (counts[kind] ?? 0) + 1
    }
  }

  console.log(
    `${sent} forged service calls, SERVICE_CALLS_SEED=${SEED}, none executed:`,
    JSON.stringify(forged),
  )
  console.log('controls, all executed:', JSON.stringify(controls))
  if (FORGED_CALLS >= kinds.length)
    expect(Object.keys(forged).length).toBeGreaterThanOrEqual(FORGERIES.length)
})

type Kind = (source: Random) => Promise<Attempt[]>

async function forge(
  { name, forge: make, status, code }: (typeof FORGERIES)[number],
  source: Random,
): Promise<Attempt[]> {
  const call = genuine(source)
  const other = differentFrom(call, source)
  const forged = make(call, { random: source, keys: scene.keys, other })
  return [
    {
      kind: name,
      call: forged,
      answer: await sendTo(anyNode(source), forged, source),
      expected: { status, code },
      executions: 0,
    },
  ]
}

/** Replayed calls, reused keys, and users without a valid session. */
const FURTHER: readonly Kind[] = [
  (source) =>
    replay('query sent to its node again', { call: genuine(source, { paths: OWN, type: 'query' }), source }),
  (source) =>
    replay('mutation sent to its node again', { call: genuine(source, { type: 'mutation' }), source }),
  (source) =>
    replay('mutation sent to another node again', {
      call: genuine(source, { type: 'mutation' }),
      source,
      between: (index) => (index === 0 ? 1 : 0),
    }),
  (source) =>
    replay('mutation sent again after a restart', {
      call: genuine(source, { type: 'mutation' }),
      source,
      async between(index) {
        // A restart costs more than everything else together.
        if (source.chance(0.2)) await scene.restart(index)
        return index
      },
    }),
  async (source) => {
    const call = genuine(source, { type: 'mutation' })
    const answers = await Promise.all(scene.nodes.map((node) => sendTo(node, call, source)))
    answers.sort((a, b) => a.status - b.status)
    const common = { call, executions: 1 } as const
    return answers.map((answer, i) =>
      i === 0
        ? { ...common, kind: 'control, sent to two nodes at once', answer, expected: EXECUTED }
        : { ...common, kind: 'mutation sent to two nodes at once', answer, expected: REPLAYED },
    )
  },
  async (source) => {
    const idempotencyKey = source.bytes(8).toString('hex')
    const first = genuine(source, { paths: MUTATIONS, idempotencyKey })
    const second = genuine(source, { paths: MUTATIONS, idempotencyKey })
    const expected = { status: 409, code: 'KEY_REUSED' }
    return [
      await attempt('control, whose key is reused', { call: first, source }),
      await attempt('key of another call', { call: second, source, expected, executions: 0 }),
    ]
  },
  async (source) => {
    const idempotencyKey = source.bytes(8).toString('hex')
    const call = genuine(source, {
      type: 'mutation',
      paths: ['sallyport.mutateEndpoint', 'sallyport.consumeLimit'],
      idempotencyKey,
    })
    const expected = { status: 500, code: 'configuration' }
    return [await attempt('key for a built-in function', { call, source, expected, executions: 0 })]
  },
  ...ENDINGS.map(
    ({ name, status, code }): Kind =>
      async (source) => {
        const actor = { ...actors[name], kid: scene.keys.users.kid }
        const call = genuine(source, { actor })
        return [
          await attempt(`on behalf of one who ${name}`, {
            call,
            source,
            expected: { status, code },
            executions: 0,
          }),
        ]
      },
  ),
  async (source) => {
    // An unknown key, removed because it leaked.
    const actor = { ...actors.counts, kid: 'gone' }
    const call = genuine(source, { actor })
    const expected = { status: 401, code: 'TOKEN_INVALID' }
    return [
      await attempt('on behalf of a user whose key was removed', { call, source, expected, executions: 0 }),
    ]
  },
]

const CONTROLS: readonly Kind[] = [
  async (source) => [await attempt('control', { call: genuine(source), source })],
  async (source) => {
    const actor = { ...actors.counts, kid: scene.keys.users.kid }
    return [await attempt('control on behalf of a user', { call: genuine(source, { actor }), source })]
  },
  async (source) => {
    // The caller's clock is ahead or behind by the maximum.
    const skew = source.pick([30, 29, -29])
    const call = genuine(source, { now: Math.floor(time / 1000) * 1000 + skew * 1000 })
    return [await attempt('control by another clock', { call, source })]
  },
  async (source) => {
    const idempotencyKey = source.bytes(8).toString('hex')
    const call = genuine(source, { paths: MUTATIONS, idempotencyKey })
    const again = { ...call, claims: { ...call.claims, jti: source.bytes(16).toString('hex') } }
    return [
      await attempt('control with a key', { call, source }),
      // Another token for the same call gets the stored result, on any node.
      await attempt('control with the same key', { call: again, source }),
    ]
  },
  async (source) => {
    const idempotencyKey = source.bytes(8).toString('hex')
    const common = { paths: MUTATIONS, idempotencyKey }
    const actor = { ...actors.counts, kid: scene.keys.users.kid }
    return [
      await attempt('control with a key', { call: genuine(source, common), source }),
      await attempt('control with the key of another user', {
        call: genuine(source, { ...common, actor }),
        source,
      }),
    ]
  },
]

/** Sends a call that runs, and again to the node that `between` returns, which rejects it. */
async function replay(
  kind: string,
  {
    call,
    source,
    between = (index) => index,
  }: { call: Call; source: Random; between?: (index: 0 | 1) => 0 | 1 | Promise<0 | 1> },
): Promise<Attempt[]> {
  const index = source.pick([0, 1] as const)
  const first = await attempt('control, sent again later', { call, source, node: scene.nodes[index] })
  const node = scene.nodes[await between(index)]
  return [first, await attempt(kind, { call, source, node, expected: REPLAYED, executions: 1 })]
}

async function attempt(
  kind: string,
  {
    call,
    source,
    node = anyNode(source),
    expected = EXECUTED,
    executions = 1,
  }: { call: Call; source: Random; node?: ServiceNode; expected?: CallAnswer; executions?: 0 | 1 },
): Promise<Attempt> {
  return { kind, call, answer: await sendTo(node, call, source), expected, executions }
}

function sendTo(node: ServiceNode, call: Call, source: Random): Promise<CallAnswer> {
  return send(node, call, { overHttp: source.below(OVER_HTTP_EVERY) === 0 })
}

function genuine(source: Random, options: Partial<Parameters<typeof createCall>[1]> = {}): Call {
  const key = source.pick([scene.keys.own, scene.keys.ownElliptic])
  return createCall(source, { now: time, key, ...options })
}

/** Creates another valid call, of another function. */
function differentFrom(call: Call, source: Random): Call {
  for (;;) {
    const other = genuine(source)
    if (other.claims.fn !== call.claims.fn) return other
  }
}

const anyNode = (source: Random): ServiceNode => source.pick(scene.nodes)
const executionsOf = ({ id }: Call): number => scene.executed.get(id) ?? 0
