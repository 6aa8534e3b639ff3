import { MAX_BATCH_SIZE } from '@sallyport/core/internal/protocol'
import { describe, expect, test } from 'vitest'
import { type Answer, type Attempt, tryInBatch, tryOverHttp } from './attempts.ts'
import { EMAIL, type Nodes, PASSWORD, startNodes } from './start-nodes.ts'

/** `pnpm test:storm` makes 2,000, in full batches. */
const ATTEMPTS = Number(process.env.SIGN_INS ?? 160)
const SEED = process.env.STORM_SEED ?? 'sallyport'
/** The address limit is one batch, so a storm on one account reaches the account's limit. */
const LIMITS = { account: 10, address: 20 }

const STORMS = [
  {
    storm: 'on one account from many addresses',
    attempt: (i: number): Attempt => ({
      email: EMAIL,
      password: `guess number ${i}`,
      address: `198.18.${i >> 8}.${i & 255}`,
    }),
    checked: LIMITS.account,
    afterwards: [
      { what: 'the account, now with its password', email: EMAIL, address: '203.0.113.1', status: 429 },
      { what: 'another account', email: 'grace@example.com', address: '203.0.113.1', status: 401 },
    ],
  },
  {
    storm: 'on many accounts from one IPv6 network',
    attempt: (i: number): Attempt => ({
      email: `user${i}@example.com`,
      password: `guess number ${i}`,
      address: `2001:db8:0:7::${i.toString(16)}`,
    }),
    checked: LIMITS.address,
    afterwards: [
      { what: 'an account with its password', email: EMAIL, address: '2001:db8:0:7:f::1', status: 429 },
      { what: 'the same from another network', email: EMAIL, address: '2001:db8:0:8::1', status: 200 },
    ],
  },
]

describe.each(STORMS)(`${ATTEMPTS} sign-ins at once $storm`, ({ attempt, checked, afterwards }) => {
  test(`causes ${checked} password checks in total, over HTTP, in batches, and in two processes`, {
    timeout: 60_000,
  }, async () => {
    const nodes = await startNodes(LIMITS, SEED)
    const answers = await storm(nodes, attempt)

    expect(countBy(answers, ({ status }) => String(status))).toEqual({
      401: checked,
      429: ATTEMPTS - checked,
    })
    expect(answers.filter(({ isJson }) => !isJson)).toEqual([])
    const rejected = answers.filter(({ status }) => status === 429)
    expect(new Set(rejected.map(({ code }) => code))).toEqual(new Set(['RATE_LIMITED']))
    expect(rejected.filter(({ retryAfterSeconds }) => !(retryAfterSeconds > 0))).toEqual([])

    const reports = await nodes.report()
    expect(sum(reports.map(({ passwords }) => passwords))).toBe(checked)
    expect(sum(reports.map(({ failures }) => failures.INVALID_CREDENTIALS ?? 0))).toBe(checked)
    expect(sum(reports.map(({ failures }) => failures.RATE_LIMITED ?? 0))).toBe(ATTEMPTS - checked)
    expect(reports.flatMap(({ errors }) => errors)).toEqual([])
    const { db } = nodes.database
    const audit = await db
      .selectFrom('sallyport.audit')
      .select(['detail'])
      .where('type', '=', 'sign-in.failed')
      .execute()
    expect(audit).toEqual(Array(checked).fill({ detail: '{"reason":"INVALID_CREDENTIALS"}' }))
    console.log(`${ATTEMPTS} sign-ins, STORM_SEED=${SEED}`, reports)

    for (const { what, email, address, status } of afterwards) {
      for (const url of nodes.urls) {
        const again = { email, address, password: PASSWORD }
        const [inBatch] = await tryInBatch(url, [again])
        expect([(await tryOverHttp(url, again)).status, inBatch?.status], what).toEqual([status, status])
      }
    }
  })
})

/**
 * Sends all attempts before the first is handled: half over HTTP and half in batches, each half to both
 * nodes.
 */
async function storm({ urls, letIn }: Nodes, attempt: (i: number) => Attempt): Promise<Answer[]> {
  const attempts = Array.from({ length: ATTEMPTS }, (_, i) => attempt(i))
  const [overHttp, inBatches] = [attempts.slice(0, ATTEMPTS / 2), attempts.slice(ATTEMPTS / 2)]
  const batches = Array.from({ length: inBatches.length / MAX_BATCH_SIZE }, (_, i) =>
    inBatches.slice(i * MAX_BATCH_SIZE, (i + 1) * MAX_BATCH_SIZE),
  )
  const nodeOf = (i: number) => urls[i % urls.length] ?? ''
  const answers = Promise.all([
    ...batches.map((batch, i) => tryInBatch(nodeOf(i), batch)),
    ...overHttp.map((one, i) => tryOverHttp(nodeOf(i), one)),
  ])
  await letIn((overHttp.length + batches.length) / urls.length)
  return (await answers).flat()
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0)
}

function countBy<Item>(items: readonly Item[], name: (item: Item) => string): Record<string, number> {
  const groups = Object.groupBy(items, name)
  return Object.fromEntries(Object.entries(groups).map(([key, group = []]) => [key, group.length]))
}
