import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { PASS_MS, pollingFeed } from '../../../src/database/sqlite/polling-feed.ts'

// Time passes when a test advances it.
vi.mock('node:timers/promises', () => ({
  setImmediate: () => new Promise((resolve) => setImmediate(resolve)),
  setTimeout: (ms: number, _value: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        reject(signal.reason)
      })
    }),
}))
beforeEach(
  () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }),
)
afterEach(() => void vi.useRealTimers())

vi.spyOn(process, 'cpuUsage').mockImplementation(() => ({ user: performance.now() * 1000, system: 0 }))

const key = (number: number) => ({ sessionId: `s${number}`, userId: 'u' })

/** Creates a feed on a file whose reads are recorded. */
function openFeed({ passMs = PASS_MS.own as number, busyMs = 0, lockedMs = 0 } = {}) {
  const reads: { at: number; keys: string[] }[] = []
  const rows = new Map<string, string>()
  let version = 0
  let fails = 0
  const feed = pollingFeed({
    passMs,
    readVersion: () => version,
    async read(names) {
      const keys = (JSON.parse(names) as [string, string][]).map(([sessionId]) => sessionId)
      reads.push({ at: performance.now(), keys })
      vi.advanceTimersByTime(busyMs)
      await new Promise((resolve) => setTimeout(resolve, lockedMs))
      if (fails-- > 0) throw new Error('disk I/O error')
      return keys.flatMap((name, place) => (rows.has(name) ? [[place, rows.get(name)]] : []))
    },
  })
  onTestFinished(() => feed.close())
  return {
    feed,
    reads,
    /** Commits a change of a session, or of another table. */
    write(name?: string, row?: string) {
      if (name !== undefined && row !== undefined) rows.set(name, row)
      version++
    },
    fail: () => {
      fails = 1
    },
    /** Returns the times between reads while something is written every 5 ms. */
    async intervals() {
      reads.length = 0
      for (let ms = 0; ms < 2_000; ms += 5) {
        version++
        await vi.advanceTimersByTimeAsync(5)
      }
      return new Set(reads.slice(1).map(({ at }, before) => at - (reads[before]?.at ?? 0)))
    },
  }
}

test('a failure is over once nothing is read anymore', async () => {
  const { feed, fail } = openFeed()
  fail()
  const unsubscribe = feed.subscribe(key(1), () => {})
  await vi.advanceTimersByTimeAsync(1)
  expect(feed.failures?.current).toMatchObject({ code: 'FEED_DOWN' })
  unsubscribe()
  expect(feed.failures?.current).toBe(null)
})

test("a read that fails after the last subscriber left isn't a failure", async () => {
  const { feed, fail } = openFeed({ lockedMs: 20 })
  fail()
  const unsubscribe = feed.subscribe(key(1), () => {})
  await vi.advanceTimersByTimeAsync(10)
  unsubscribe()
  await vi.advanceTimersByTimeAsync(20)
  expect(feed.failures?.current).toBe(null)
})

/** Subscribes a listener that was called for its first read. */
async function listen({ feed }: ReturnType<typeof openFeed>, number = 1) {
  const listener = vi.fn<() => void>()
  const unsubscribe = feed.subscribe(key(number), listener)
  await vi.advanceTimersByTimeAsync(PASS_MS.mapped)
  expect(listener).toHaveBeenCalledOnce()
  listener.mockClear()
  return { listener, unsubscribe }
}

describe('a pass', () => {
  test('publishes only what changed, within 25 ms', async () => {
    const opened = openFeed()
    const [ada, eve] = [await listen(opened, 1), await listen(opened, 2)]
    opened.write('s1', 'banned')
    await vi.advanceTimersByTimeAsync(PASS_MS.own)
    expect([ada.listener.mock.calls.length, eve.listener.mock.calls.length]).toEqual([1, 0])
    opened.write('s3', 'another session')
    await vi.advanceTimersByTimeAsync(PASS_MS.own)
    expect([ada.listener.mock.calls.length, eve.listener.mock.calls.length]).toEqual([1, 0])
  })

  test('reads 500 sessions with each statement, each session once', async () => {
    const { feed, reads } = openFeed()
    const listener = vi.fn<() => void>()
    for (let number = 0; number < 1_200; number++) feed.subscribe(key(number), listener)
    feed.subscribe(key(0), listener)
    await vi.advanceTimersByTimeAsync(PASS_MS.own)
    expect(listener).toHaveBeenCalledTimes(1_201)
    expect(reads.map(({ keys }) => keys.length)).toEqual([500, 500, 200])
  })

  test('runs only after a commit', async () => {
    const opened = openFeed()
    await listen(opened)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(opened.reads).toHaveLength(1)
  })

  test.each([
    { file: 'a file that we migrate', passMs: PASS_MS.own, intervals: [25] },
    { file: 'a mapped file', passMs: PASS_MS.mapped, intervals: [250] },
  ])('of $file starts as soon as it is due: every $passMs ms', async ({ passMs, intervals }) => {
    const opened = openFeed({ passMs })
    await listen(opened)
    expect(await opened.intervals()).toEqual(new Set(intervals))
  })

  test('takes at most a tenth of the time', async () => {
    const opened = openFeed({ busyMs: 30 })
    await listen(opened)
    expect(await opened.intervals()).toEqual(new Set([300]))
  })

  test("doesn't back off because it waits for a lock", async () => {
    const opened = openFeed({ lockedMs: 20 })
    await listen(opened)
    expect(await opened.intervals()).toEqual(new Set([25]))
  })

  test('is retried after an error', async () => {
    const opened = openFeed()
    const { listener } = await listen(opened)
    opened.write('s1', 'banned')
    opened.fail()
    await vi.advanceTimersByTimeAsync(PASS_MS.own)
    expect(listener).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(PASS_MS.own)
    expect(listener).toHaveBeenCalledOnce()
  })

  test("doesn't run without subscribers, or after the feed was closed", async () => {
    const opened = openFeed()
    const [one, other] = [await listen(opened, 1), await listen(opened, 2)]
    one.unsubscribe()
    one.unsubscribe()
    opened.reads.length = 0
    opened.write()
    await vi.advanceTimersByTimeAsync(PASS_MS.own)
    expect(opened.reads.map(({ keys }) => keys)).toEqual([['s2']])
    other.unsubscribe()
    opened.write()
    await vi.advanceTimersByTimeAsync(2_000)
    expect(vi.getTimerCount()).toBe(0)
    opened.feed.close()
    opened.feed.subscribe(key(1), () => {})
    await vi.advanceTimersByTimeAsync(2_000)
    expect(opened.reads).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a new subscriber', () => {
  test("is called once after a read of its session, which doesn't call the others", async () => {
    const opened = openFeed()
    const first = await listen(opened, 1)
    opened.reads.length = 0
    await listen(opened, 2)
    expect(opened.reads.map(({ keys }) => keys)).toEqual([['s2']])
    expect(first.listener).not.toHaveBeenCalled()
  })

  test("is called while other sessions' pass isn't due", async () => {
    const opened = openFeed({ busyMs: 300 })
    await listen(opened, 1)
    opened.write()
    await vi.advanceTimersByTimeAsync(3_500)
    opened.write()
    await listen(opened, 2)
    expect(opened.reads.at(-1)?.keys).toEqual(['s2'])
  })

  test('of a session that others watch is called, too', async () => {
    const opened = openFeed()
    await listen(opened, 1)
    await listen(opened, 1)
  })

  test('is called once if it unsubscribes and subscribes again in one turn', async () => {
    const { feed } = openFeed()
    const listener = vi.fn<() => void>()
    feed.subscribe(key(1), listener)()
    feed.subscribe(key(1), listener)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(listener).toHaveBeenCalledOnce()
  })
})

test('a change by this process is published at once', async () => {
  const opened = openFeed()
  const { listener } = await listen(opened)
  opened.feed.publish(key(1))
  expect(listener).toHaveBeenCalledOnce()
})
