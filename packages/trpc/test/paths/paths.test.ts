import { afterAll, expect, test } from 'vitest'
import { createRandom, type Random } from '../../../core/test/hostile/random.ts'
import { expectEveryMethod } from '../../../core/test/support/sign-in-methods.ts'
import { expectedAnswer, expectedReason, expectedStatus, type Names, type Result } from './model.ts'
import { openPathsApp } from './open-app.ts'
import { insertVisitor, setScene } from './scene.ts'
import { createState, type State, stateBefore } from './state.ts'
import { createKeys } from './tokens.ts'
import { createWays, openSocket, type Socket } from './ways.ts'

/** `pnpm test:paths` tries 5,000. The first 86 contain every single difference. */
const STATES = Number(process.env.STATES ?? 90)
const IS_LONG_RUN = process.env.STATES !== undefined
const SEED = process.env.PATHS_SEED ?? 'sallyport'
/** A path that is only checked if the visitor connected before. */
const KEPT = 'WebSocket that was open before'

const random = createRandom(`${SEED} scenes`)
let time = 0

const keys = await createKeys(random)
const app = await openPathsApp({
  jwks: keys.live,
  signingKeys: keys.signing,
  now: () => new Date(time),
  random,
})
const stranger = await insertVisitor(app, random)
const ways = createWays(app)
afterAll(() => app.close())

test(`${STATES} random states of JWT, session, ban, role, and clock have the model's result and reason on every path`, {
  timeout: 240_000 + STATES * 200,
}, async () => {
  const states = createRandom(`${SEED} states`)
  const asked: Record<string, number> = {}
  const results: Record<string, number> = {}

  for (let number = 0; number < STATES; number++) {
    const state = createState(number, states)
    for (const { name, result, expected, at } of await askEverywhere(state, random)) {
      const where = { PATHS_SEED: SEED, number, at, path: name, state: JSON.stringify(state) }
      expect({ ...where, ...result }).toEqual({
        ...where,
        ...expected,
        message: expect.toSatisfy(isMessageOf(result)),
      })
      asked[name] = (asked[name] ?? 0) + 1
      const outcome = `${result.status} ${result.reason ?? 'accepted'}`
      results[outcome] = (results[outcome] ?? 0) + 1
    }
  }

  console.log(`${STATES} states, PATHS_SEED=${SEED}, asked on each path:`, JSON.stringify(asked))
  console.log('signed in by each method:', JSON.stringify(app.signIns.counts))
  console.log('results:', JSON.stringify(Object.fromEntries(Object.entries(results).sort())))
  // Each path was called in each state, and every possible result occurred.
  for (const { name } of ways) expect(asked[name]).toBeGreaterThanOrEqual(STATES)
  expect(asked[KEPT]).toBeGreaterThan(STATES / 5)
  expect(Object.keys(results)).toHaveLength(10)
  expectEveryMethod(app.signIns)
})

interface Asked {
  readonly name: string
  readonly at: 'before' | 'now'
  readonly result: Result
  readonly expected: Omit<Result, 'message'>
}

/** Creates a state and calls every path at once. If the visitor connected before, also calls them then. */
async function askEverywhere(state: State, sceneRandom: Random): Promise<Asked[]> {
  time = (state.before ?? state.now) - 1_000
  const scene = await setScene(app, state, { keys, stranger, random: sceneRandom, signsIn: IS_LONG_RUN })
  const { headers, names } = scene
  const asked: Asked[] = []
  let kept: Socket | null = null
  if (state.before !== null) {
    time = state.before
    const earlier = stateBefore(state, state.before)
    kept = await openSocket(app, headers)
    const expected = expectedResult(earlier, names)
    asked.push({ name: KEPT, at: 'before', result: await kept.ask(state.need), expected })
    // The paths share the cache of verified JWTs.
    if (IS_LONG_RUN) asked.push(...(await askAll(earlier, { headers, names, at: 'before' })))
  }
  time = state.now
  await scene.change()
  asked.push(...(await askAll(state, { headers, names, at: 'now' })))
  if (kept !== null) {
    const expected = expectedResult(state, names, 'kept')
    asked.push({ name: KEPT, at: 'now', result: await kept.ask(state.need), expected })
    kept.close()
  }
  app.store.answer = null
  return asked
}

function askAll(
  state: State,
  { headers, names, at }: { headers: Readonly<Record<string, string>>; names: Names; at: Asked['at'] },
): Promise<Asked[]> {
  const expected = expectedResult(state, names)
  return Promise.all(
    ways.map(async ({ name, ask }) => ({ name, at, result: await ask(headers, state.need), expected })),
  )
}

function expectedResult(state: State, names: Names, connection: 'new' | 'kept' = 'new'): Asked['expected'] {
  const reason = expectedReason(state, connection)
  const answer = reason === null ? expectedAnswer(state, names) : null
  return { status: expectedStatus(reason), reason, answer }
}

/** The texts of the document, and exactly one for each reason. */
const texts = new Map<string | null, string | null>([
  [null, null],
  ['ACCOUNT_BANNED', 'Account banned'],
])
function isMessageOf({ reason, message: first }: Result): (message: unknown) => boolean {
  if (!texts.has(reason)) texts.set(reason, first)
  return (message) => message === texts.get(reason)
}
