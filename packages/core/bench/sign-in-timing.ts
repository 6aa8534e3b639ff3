/**
 * Checks that the duration of a sign-in doesn't reveal whether the account exists, with a wrong password and
 * samples of both kinds in random order. Prints the AUC: the chance that an attempt at a known account takes
 * longer than one at an unknown account, so 0.5 means no difference. Fails if it is outside 0.45 to 0.55, or
 * if the responses differ. Run it alone.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AUTH_PATH, CLIENT_HEADER, ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth } from '@sallyport/core/testing'
import { median } from '../../../bench/compare.ts'

const SAMPLES = Number(process.env.BENCH_SAMPLES ?? 1_000)
const WARM_UP = 50
const ADDRESSES = 25
const [LOWEST, HIGHEST] = [0.45, 0.55]

type Account = 'known' | 'unknown'

const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
const unlimited = { points: 1e9, duration: 86_400 }
const auth = await createTestAuth({
  databaseUrl: join(directory, 'timing.db'),
  emailPassword: { limits: { account: unlimited, address: unlimited } },
})
for (let i = 0; i < ADDRESSES; i++) await auth.createUser({ email: addressOf('known', i) })

const times: Record<Account, number[]> = { known: [], unknown: [] }
const responses = new Set<string>()
for (let i = -WARM_UP; i < SAMPLES; i++) {
  const pair: Account[] = Math.random() < 0.5 ? ['known', 'unknown'] : ['unknown', 'known']
  for (const account of pair) {
    const milliseconds = await signIn(addressOf(account, (i + WARM_UP) % ADDRESSES))
    if (i >= 0) times[account].push(milliseconds)
  }
}
await auth.close()
rmSync(directory, { recursive: true })

const auc = areaUnderCurve(times.known, times.unknown)
const [response, ...others] = responses
const [known, unknown] = [times.known, times.unknown].map((values) => median(values).toFixed(2))
console.log(`${SAMPLES} samples a class, median ms: known ${known}, unknown ${unknown}`)
console.log(`AUC ${auc.toFixed(3)}, expected ${LOWEST} to ${HIGHEST}`)
console.log(
  others.length === 0 ? `every response: ${response}` : ['responses differ:', response, ...others].join('\n'),
)
if (!(auc >= LOWEST && auc <= HIGHEST) || others.length > 0) process.exitCode = 1

function addressOf(account: Account, i: number): string {
  // The same length, so only the account differs.
  return `${account === 'known' ? 'ada' : 'eve'}${String(i).padStart(3, '0')}@example.com`
}

/** Returns the milliseconds until the response has arrived completely. */
async function signIn(email: string): Promise<number> {
  const request = new Request(`${auth.config.baseUrl}${AUTH_PATH}${ENDPOINTS.signInEmail.path}`, {
    method: 'POST',
    headers: { [CLIENT_HEADER]: '1', 'content-type': 'application/json' },
    body: JSON.stringify({ email, password: 'not the right password' }),
  })
  const startedAt = performance.now()
  const response = await auth.handler(request, { remoteAddress: '203.0.113.1' })
  const body = await response.text()
  const milliseconds = performance.now() - startedAt
  if (response.status !== 401) throw new Error(`A sample got ${response.status}: ${body}`)
  responses.add(`${response.status} ${JSON.stringify([...response.headers])} ${body}`)
  return milliseconds
}

/** Returns the share of pairs whose first value is greater, plus half of the ties (Mann-Whitney). */
function areaUnderCurve(first: readonly number[], second: readonly number[]): number {
  let greater = 0
  for (const a of first) {
    for (const b of second) greater += a > b ? 1 : a === b ? 0.5 : 0
  }
  return greater / (first.length * second.length)
}
