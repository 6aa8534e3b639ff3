import { Socket } from 'node:net'
import { join } from 'node:path'
import { authenticate } from '@sallyport/core'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { incoming } from '../support/incoming.ts'
import { reasonOf } from '../support/reason-of.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { attack, openGates } from './attack.ts'
import { type Cost, createCosts, lengthClass, quantile } from './costs.ts'
import { GENERATORS } from './generators.ts'
import { prototypes } from './prototypes.ts'
import { createRandom } from './random.ts'
import { SEED } from './seed.ts'
import { createTarget } from './target.ts'

const TOKENS = Number(process.env.HOSTILE_TOKENS ?? 2_000)
/** Processor time is checked only in the long run, which has enough tokens. */
const isLong = TOKENS > 10_000
const TIMEOUT_MS = 10_000 + TOKENS * 5

const target = await createTarget(SEED, { databaseUrl: join(temporaryDirectory(), 'hostile.db') })
const gates = await openGates(target)
const hostile = createCosts()
const valid = createCosts()
const table: Record<string, object> = {}

afterAll(async () => {
  console.log(`${TOKENS} hostile tokens, HOSTILE_SEED=${SEED}`)
  if (isLong) console.table(table)
  await target.auth.close()
})

describe.each(GENERATORS)('$name', (generator) => {
  test(
    'rejects every token without throwing, looks nothing up before the cheap checks pass, and accepts valid tokens',
    async () => {
      const before = prototypes()
      const connect = vi.spyOn(Socket.prototype, 'connect')
      const fetch = vi.spyOn(globalThis, 'fetch')
      const runs = Math.ceil(TOKENS / GENERATORS.length)
      const { findings, controls, stoppedAt } = await attack(generator, target, {
        gates,
        random: createRandom(`${SEED} ${generator.name}`),
        runs,
        ...(isLong && { costs: { hostile, valid } }),
      })
      table[generator.name] = { controls, ...stoppedAt }
      expect(findings).toEqual([])
      expect(controls).toBe(Math.floor(runs / 100))
      expect(connect).not.toHaveBeenCalled()
      expect(fetch).not.toHaveBeenCalled()
      expect(prototypes()).toEqual(before)
    },
    TIMEOUT_MS,
  )
})

// The time of the whole process, because no other figure includes the thread pool. It also includes the
// garbage collector, so single figures mean little. Hence p99.9 of all tokens, and the most expensive ones
// measured again.
describe.runIf(isLong)('processor time of both steps', () => {
  test('is below 5 ms at p99.9', () => {
    const [median, p999] = [hostile.quantile(0.5), hostile.quantile(0.999)]
    console.log(`processor time of a hostile token: median ${median} us, p99.9 ${p999} us`)
    console.table(
      hostile.classes.map(({ worst, ...figures }) => ({
        ...figures,
        'p99.9 / median': ratio(figures.p999, figures.median),
        'median of valid': medianOfValid(figures.length),
        worst: `${worst.generator}, p99.9 ${worst.p999} us`,
      })),
    )
    expect(p999).toBeLessThan(5_000)
  })

  test(
    'of the most expensive tokens is at most twice the median of valid tokens of their length',
    async () => {
      const measured = []
      for (const cost of hostile.dearest) {
        measured.push({
          ...cost,
          ratio: (await measureAgain(cost)) / medianOfValid(lengthClass(cost.token.length)),
        })
      }
      const [worst] = measured.sort((a, b) => b.ratio - a.ratio)
      console.log(
        `dearest token, measured again: ${worst?.ratio.toFixed(2)} times a valid one of its length (${worst?.generator})`,
      )
      expect(measured.filter(({ ratio: times }) => times > 2)).toEqual([])
    },
    TIMEOUT_MS,
  )
})

/** Returns the median of many measurements of one token, which excludes other work of the process. */
async function measureAgain({ token }: Cost): Promise<number> {
  const micros: number[] = []
  for (let run = 0; run < 51; run++) {
    const { config } = target.openGate()
    const before = process.cpuUsage()
    await reasonOf(
      authenticate(incoming({ cookie: `service.jwt=${token}` }), 'query', {
        config,
        sessions: target.auth.database.sessions,
      }),
    )
    const { user, system } = process.cpuUsage(before)
    micros.push(user + system)
  }
  return quantile(micros, 0.5)
}

/**
 * Returns the median of valid tokens of about this length. No valid token is shorter than the first class
 * that has one, or longer than the last.
 */
function medianOfValid(length: number): number {
  const classes = valid.classes
  const same = classes.find((candidate) => candidate.length >= length) ?? classes.at(-1)
  return same?.median ?? Number.NaN
}

function ratio(a: number, b: number): string {
  return (a / b).toFixed(1)
}
