/** Further calls aren't tracked: a client can send ids whose calls are never answered. */
const MAX_TRACKED_CALLS = 1_000

/** Shared by sockets until they need one, because most have no subscriptions. Always empty. */
const NO_SUBSCRIPTIONS = new Map<unknown, boolean>()
const NO_CALLS = new Set<unknown>()

interface CallEffects {
  /** Stops the subscription with this id. */
  stop(id: unknown): void
}

/**
 * Follows the calls of one socket by the ids in tRPC's frames, because public procedures have no guard:
 * enforces the limit of subscriptions, and tells whether queries and mutations wait for their responses.
 * Guarded subscriptions reserve a place first, so the guard can reject those over the limit.
 */
export class OpenCalls {
  readonly #max: number
  readonly #effects: CallEffects
  /** Whether tRPC has confirmed the subscription, by the id of the call. */
  #subscriptions = NO_SUBSCRIPTIONS
  /** The ids of queries and mutations without a response. */
  #calls = NO_CALLS
  #started = 0
  #reserved = 0

  constructor(max: number, effects: CallEffects) {
    this.#max = max
    this.#effects = effects
  }

  /** Whether a query or a mutation has no response yet. */
  get isWaiting(): boolean {
    return this.#calls.size > 0
  }

  /** Whether any call has no response yet, or a subscription hasn't ended. */
  get isOpen(): boolean {
    return this.isWaiting || this.#subscriptions.size > 0
  }

  /** Reads a frame of the client. Returns false if it breaks the limit or opens an id twice. */
  receive(frame: Buffer): boolean {
    // Parsing every call costs too much. JSON may write the word with escapes (backslash, 0x5c).
    const mayBeSubscription = frame.includes('subscription') || frame.includes(0x5c)
    const { id: json } = mayBeSubscription ? {} : (CALL.exec(frame.toString('latin1', 0, 64))?.groups ?? {})
    if (json !== undefined) {
      this.#add(JSON.parse(json))
      return true
    }
    const { id, method } = parseCall(frame)
    if (method === 'query' || method === 'mutation') this.#add(id)
    if (method !== 'subscription') return true
    // The responses to two calls with one id look the same. No tRPC client sends them.
    if (this.#subscriptions.has(id) || this.#subscriptions.size >= 2 * this.#max) return false
    if (this.#subscriptions === NO_SUBSCRIPTIONS) this.#subscriptions = new Map()
    this.#subscriptions.set(id, false)
    return true
  }

  /** Reads a frame of the server. Returns false if more subscriptions have started than the limit allows. */
  send(frame: unknown): boolean {
    if (this.#subscriptions.size + this.#calls.size === 0 || typeof frame !== 'string') return true
    const { id: json, type } = RESPONSE.exec(frame)?.groups ?? {}
    if (json === undefined) return true
    const id: unknown = JSON.parse(json)
    const wasStarted = this.#subscriptions.get(id)
    if (wasStarted === undefined) this.#calls.delete(id)
    if (wasStarted === undefined || type === 'data') return true
    if (type === 'started') {
      this.#subscriptions.set(id, true)
      if (!wasStarted) this.#started++
      return this.#started <= this.#max
    }
    this.#subscriptions.delete(id)
    if (!wasStarted) return true
    this.#started--
    // The error may belong to another call with this id. The subscription would then continue unnoticed.
    if (type === undefined) this.#effects.stop(id)
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

  #add(id: unknown): void {
    const isShort = typeof id === 'number' || (typeof id === 'string' && id.length < 64)
    if (!isShort || this.#calls.size >= MAX_TRACKED_CALLS) return
    if (this.#calls === NO_CALLS) this.#calls = new Set()
    this.#calls.add(id)
  }
}

/** How tRPC's client begins a query or a mutation. A number with a leading zero isn't JSON. */
const CALL = /^\{"id":(?<id>0|[1-9]\d*),(?:"jsonrpc":"2\.0",)?"method":"(?:query|mutation)"/

/** How tRPC begins the frames in which a call succeeds or fails, or a subscription starts or stops. */
const RESPONSE =
  /^\{"id":(?<id>"(?:[^"\\]|\\.)*"|[^",]+),(?:"jsonrpc":"2\.0",)?"(?:error"|result":\{"type":"(?<type>started|stopped|data)")/

/** Returns an empty object for a frame that isn't JSON: tRPC responds to it with a PARSE_ERROR. */
function parseCall(frame: Buffer): { readonly id?: unknown; readonly method?: unknown } {
  // The pings of tRPC's client.
  if (frame.length === 4) return {}
  try {
    return Object(JSON.parse(frame.toString()))
  } catch {
    return {}
  }
}
