/**
 * Enforces the limit of subscriptions of one socket by the ids in tRPC's frames, because public procedures
 * have no guard. Guarded subscriptions reserve a place first, so the guard can reject those over the limit.
 */
export class OpenSubscriptions {
  readonly #max: number
  readonly #stop: (id: unknown) => void
  /** Whether tRPC has confirmed the subscription, by the id of the call. */
  readonly #open = new Map<unknown, boolean>()
  #started = 0
  #reserved = 0

  constructor(max: number, stop: (id: unknown) => void) {
    this.#max = max
    this.#stop = stop
  }

  /** Reads a frame of the client. Returns false if it breaks the limit or opens an id twice. */
  receive(frame: Buffer): boolean {
    // Parsing every call costs too much. JSON may write the word with escapes (backslash, 0x5c).
    if (!frame.includes('subscription') && !frame.includes(0x5c)) return true
    let call: { readonly id?: unknown; readonly method?: unknown } | null
    try {
      call = JSON.parse(frame.toString())
    } catch {
      // tRPC responds to this with a PARSE_ERROR.
      return true
    }
    if (call?.method !== 'subscription') return true
    // The responses to two calls with one id look the same. No tRPC client sends them.
    if (this.#open.has(call.id) || this.#open.size >= 2 * this.#max) return false
    this.#open.set(call.id, false)
    return true
  }

  /** Reads a frame of the server. Returns false if more subscriptions have started than the limit allows. */
  send(frame: unknown): boolean {
    if (this.#open.size === 0 || typeof frame !== 'string') return true
    const { id: json, type } = RESPONSE.exec(frame)?.groups ?? {}
    if (json === undefined) return true
    const id: unknown = JSON.parse(json)
    const wasStarted = this.#open.get(id)
    if (wasStarted === undefined) return true
    if (type === 'started') {
      this.#open.set(id, true)
      if (!wasStarted) this.#started++
      return this.#started <= this.#max
    }
    this.#open.delete(id)
    if (!wasStarted) return true
    this.#started--
    // The error may belong to another call with this id. The subscription would then continue unnoticed.
    if (type === undefined) this.#stop(id)
    return true
  }

  /** Reserves a place for a guarded subscription. Returns a function that releases it, or null if full. */
  reserve(): (() => void) | null {
    if (this.#started + this.#reserved >= this.#max) return null
    this.#reserved++
    let isReserved = true
    return () => {
      if (isReserved) this.#reserved--
      isReserved = false
    }
  }
}

/** How tRPC begins the frames in which a subscription starts, stops, or fails. */
const RESPONSE =
  /^\{"id":(?<id>"(?:[^"\\]|\\.)*"|[^",]+),(?:"jsonrpc":"2\.0",)?"(?:error"|result":\{"type":"(?<type>started|stopped)")/
