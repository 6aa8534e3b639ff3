import { requirePositive } from '@sallyport/core'

/** What {@link webSocketOptions} allows a client to do. Every limit has a default. */
export interface WebSocketLimits {
  /**
   * Frames of one socket that are handled within 100 ms. Each call in a frame is one. Further frames wait,
   * and the server stops reading.
   * @default 50
   */
  readonly framesPer100Ms?: number
  /** A socket that stays over that budget for this many milliseconds is closed with 4429. @default 5_000 */
  readonly overBudgetMs?: number
  /**
   * The source of a guarded subscription isn't read while this many bytes wait for its client.
   * @default 262_144 (256 KB)
   */
  readonly pauseAboveBytes?: number
  /**
   * A socket is terminated if this many bytes wait for its client and more are sent.
   * @default 1_048_576 (1 MB)
   */
  readonly maxBufferedBytes?: number
  /** Subscriptions of one socket. @default 100 */
  readonly maxSubscriptions?: number
  /** Sockets of one session in this process. @default 20 */
  readonly maxSocketsPerSession?: number
  /** Sockets of one client address in this process. @default 1_000 */
  readonly maxSocketsPerAddress?: number
  /** Handshakes of one client address within 10 seconds in this process. @default 100 */
  readonly maxHandshakesPerAddress?: number
  /** A socket that hasn't authenticated after this many milliseconds is closed with 4408. @default none */
  readonly authenticateWithinMs?: number
}

/** The limits with their defaults. */
export type SocketLimits = Required<Omit<WebSocketLimits, 'authenticateWithinMs'>> &
  Pick<WebSocketLimits, 'authenticateWithinMs'>

const DEFAULT_LIMITS = {
  framesPer100Ms: 50,
  overBudgetMs: 5_000,
  pauseAboveBytes: 256 * 1024,
  maxBufferedBytes: 1024 * 1024,
  maxSubscriptions: 100,
  maxSocketsPerSession: 20,
  maxSocketsPerAddress: 1_000,
  maxHandshakesPerAddress: 100,
} as const

/** The longest delay that a timer can have. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Checks the limits and fills in the defaults.
 *
 * @throws ConfigurationError naming the limit that is wrong
 */
export function socketLimits(limits: WebSocketLimits): SocketLimits {
  const { authenticateWithinMs } = limits
  const limit = (name: keyof typeof DEFAULT_LIMITS) =>
    requirePositive(`webSocketOptions: ${name}`, limits[name] ?? DEFAULT_LIMITS[name])
  return {
    framesPer100Ms: limit('framesPer100Ms'),
    overBudgetMs: limit('overBudgetMs'),
    pauseAboveBytes: limit('pauseAboveBytes'),
    maxBufferedBytes: limit('maxBufferedBytes'),
    maxSubscriptions: limit('maxSubscriptions'),
    maxSocketsPerSession: limit('maxSocketsPerSession'),
    maxSocketsPerAddress: limit('maxSocketsPerAddress'),
    maxHandshakesPerAddress: limit('maxHandshakesPerAddress'),
    ...(authenticateWithinMs !== undefined && {
      authenticateWithinMs: requirePositive(
        'webSocketOptions: authenticateWithinMs',
        authenticateWithinMs,
        MAX_TIMER_MS,
      ),
    }),
  }
}
