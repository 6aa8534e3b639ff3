import type { Receipt } from './receipt.ts'

/** What the tabs of a browser tell each other. */
export type TabMessage =
  /** A JWT has come; by a sign-in, or for the session that there was. */
  | { readonly type: 'received'; readonly receipt: Receipt; readonly isNew: boolean }
  /** A session has ended for certain; null where the tab did not know which. */
  | {
      readonly type: 'ended'
      readonly sessionId: string | null
      /** Only the secrets up to this receipt were superseded; a tab with a newer one stays signed in. */
      readonly supersededSeq?: number | undefined
    }

/** The tabs of one browser, which share its cookies. */
export interface Tabs {
  /** Runs work that may change the cookies, while no other tab does. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result>
  /** Within `exclusively`: what another tab has received, where it is still open. Like the others absent where there are no tabs. */
  latest?(): Promise<Receipt | null>
  tell?(message: TabMessage): Promise<void>
  /** Listens until the function that it returns is called. */
  listen?(listener: (message: TabMessage) => void): () => void
}

/** How long to wait for another tab, in milliseconds: it may have been frozen. */
const PATIENCE_MS = 15_000

/** How long a tab listens for others that want the same, in milliseconds, where the browser has no locks. */
const CLAIM_MS = 50

/** For a program, and a page without the APIs: it waits for nobody but itself. */
function stayAlone(): Tabs {
  let last: Promise<unknown> = Promise.resolve()
  return {
    exclusively(work) {
      const done = last.then(work)
      last = done.catch(() => {})
      return done
    },
  }
}

/** The tabs whose pages have this origin and use this name. Elsewhere cookies are not shared, and nothing is. */
export function connectTabs(name: string): Tabs {
  if (!globalThis.document || !globalThis.BroadcastChannel) return stayAlone()
  const { locks } = navigator
  let channel: BroadcastChannel | null = null
  /** The receipt that this tab shows the others by a lock. */
  let shownSeq = 0
  let release = (): void => {}

  return {
    exclusively: (work) => (locks ? lockWhile(name, work) : claimWhile(name, work)),
    async latest() {
      const snapshot = await locks?.query()
      const receipts = (snapshot?.held ?? [])
        .map((lock) => `${lock.name}`)
        .filter((lock) => lock.startsWith(`${name} {`))
        .map((lock): Receipt => JSON.parse(lock.slice(name.length)))
      return receipts.sort((a, b) => b.seq - a.seq)[0] ?? null
    },
    async tell(message) {
      release()
      // A message may still be on its way when the next tab has its turn. Locks are granted and listed by one authority, so that it is sure
      // to see one whose name says what was received.
      if (locks && channel && message.type === 'received') {
        const { receipt } = message
        shownSeq = receipt.seq
        release = await hold(`${name} ${JSON.stringify(receipt)}`)
      }
      const sender = channel ?? new BroadcastChannel(name)
      sender.postMessage(message)
      if (sender !== channel) sender.close()
    },
    listen(listener) {
      const listening = new BroadcastChannel(name)
      channel = listening
      listening.onmessage = ({ data }: MessageEvent<TabMessage>) => {
        const seq =
          data.type === 'received' ? data.receipt.seq : (data.supersededSeq ?? Number.POSITIVE_INFINITY)
        if (seq >= shownSeq) release()
        listener(data)
      }
      return () => {
        listening.close()
        channel = null
        release()
      }
    },
  }
}

/** Takes a lock that no other tab wants, and returns what releases it. */
function hold(name: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    navigator.locks.request(name, () => new Promise<void>(resolve)).catch(reject)
  })
}

async function lockWhile<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  let isOurs = false
  try {
    return await navigator.locks.request(name, { signal: AbortSignal.timeout(PATIENCE_MS) }, () => {
      isOurs = true
      return work()
    })
  } catch (error) {
    if (isOurs) throw error
    return work()
  }
}

/** Whoever has the lowest number goes first, and tells the others that it is at it. */
async function claimWhile<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const channel = new BroadcastChannel(`${name} claims`)
  const own = Math.random()
  const until = performance.now() + PATIENCE_MS
  let isOurs = false
  let isTaken = true
  let free = (): void => {}
  channel.onmessage = ({ data: other }: MessageEvent<number>) => {
    if (other === 1) free()
    else if (other < own && !isOurs) isTaken = true
    else if (other > 0) channel.postMessage(isOurs ? 0 : own)
  }
  try {
    while (isTaken && performance.now() < until) {
      isTaken = false
      const freed = new Promise<void>((resolve) => {
        free = resolve
      })
      channel.postMessage(own)
      await pause(CLAIM_MS)
      if (isTaken) await Promise.race([freed, pause(PATIENCE_MS)])
    }
    isOurs = true
    return await work()
  } finally {
    channel.postMessage(1)
    channel.close()
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
