import { isOnServer } from './on-server.ts'
import type { Receipt } from './receipt.ts'

/** A JWT that arrived, or the id of a session that has ended; null if that is unknown. */
export type TabMessage = Receipt | { readonly sessionId: string | null; readonly seq?: undefined }

/** The tabs of one browser, which share its cookies. Outside a browser the optional members are absent. */
export interface Tabs {
  /** Runs work that may change the cookies, while no other tab does. Without Web Locks, another tab may. */
  lock<Result>(work: () => Promise<Result>): Promise<Result>
  /** Within `lock`: returns the newest JWT that another open tab has received. */
  latest?(): Promise<Receipt | null>
  post?(message: TabMessage): Promise<void>
  listen?(listener: (message: TabMessage) => void): () => void
}

/** Another tab may be frozen. Longer than the timeout of a request. */
const TAB_TIMEOUT_MS = 20_000

export function connectTabs(name: string): Tabs {
  let last: Promise<unknown> = Promise.resolve()
  const tab: Tabs = {
    lock(work) {
      const done = last.then(work)
      last = done.catch(() => {})
      return done
    },
  }
  if (isOnServer()) return tab
  let channel: BroadcastChannel
  try {
    channel = new BroadcastChannel(name)
  } catch {
    // A browser denies channels to a page without cookies.
    return tab
  }
  let publishedSeq = 0
  let release = (): void => {}

  return {
    async lock(work) {
      let result: ReturnType<typeof work> | undefined
      try {
        await navigator.locks.request(name, { signal: AbortSignal.timeout(TAB_TIMEOUT_MS) }, () => {
          result = work()
          return result
        })
      } catch {
        // A page without TLS has no locks. A browser may deny them, and another tab may be frozen.
      }
      return result ?? tab.lock(work)
    },
    async latest() {
      // A browser may deny locks to a page.
      const snapshot = await navigator.locks?.query().catch(() => null)
      const receipts = (snapshot?.held ?? []).flatMap(({ name: lock = '' }): Receipt | [] =>
        lock.startsWith(`${name} {`) ? JSON.parse(lock.slice(name.length)) : [],
      )
      return receipts.sort((a, b) => b.seq - a.seq)[0] ?? null
    },
    async post(message) {
      release()
      // The next tab may get the lock before this message, but it sees a lock whose name is the receipt.
      if (navigator.locks && channel.onmessage && message.seq) {
        publishedSeq = message.seq
        release = await new Promise((resolve) => {
          // A browser may deny locks to a page.
          navigator.locks
            .request(`${name} ${JSON.stringify(message)}`, () => new Promise<void>(resolve))
            .catch(() => resolve(() => {}))
        })
      }
      channel.postMessage(message)
    },
    listen(listener) {
      channel.onmessage = ({ data }: MessageEvent<TabMessage>) => {
        if ((data.seq ?? publishedSeq) >= publishedSeq) release()
        listener(data)
      }
      return () => {
        channel.onmessage = null
        release()
      }
    },
  }
}
