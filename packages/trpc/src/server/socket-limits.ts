import { MAX_TIMER_MS, requirePositive } from '@sallyport/core/internal/server'

/** Limits of {@link webSocketOptions}. */
export interface WebSocketLimits {
  /**
   * Calls of one socket that are handled within 100 ms. Each 8 KB of a message counts as another. Others
   * wait, and reading pauses. @default 50
   */
  readonly framesPer100Ms?: number
  /** Milliseconds over that budget after which a socket is closed with 4429. @default 5_000 */
  readonly overBudgetMs?: number
  /** Bytes waiting for the client above which guarded subscriptions pause. @default 262_144 (256 KB) */
  readonly pauseAboveBytes?: number
  /** Bytes waiting for the client above which a send terminates the socket. @default 1_048_576 (1 MB) */
  readonly maxBufferedBytes?: number
  /** Subscriptions of one socket. @default 100 */
  readonly maxSubscriptions?: number
  /** Sockets of one session in this process. @default 20 */
  readonly maxSocketsPerSession?: number
  /** Sockets of one client address in this process. @default 1_000 */
  readonly maxSocketsPerAddress?: number
  /** Handshakes of one client address within 10 seconds in this process. @default 100 */
  readonly maxHandshakesPerAddress?: number
  /** Milliseconds after which a socket that hasn't authenticated is closed with 4408. @default none */
  readonly authenticateWithinMs?: number
}

type DefaultLimits = Required<Omit<WebSocketLimits, 'authenticateWithinMs'>>

export interface SocketLimits extends DefaultLimits, Pick<WebSocketLimits, 'authenticateWithinMs'> {
  /** Called when a socket is closed because its client sends too much. */
  readonly onLimited?: () => void
}

const DEFAULT_LIMITS: DefaultLimits = {
  framesPer100Ms: 50,
  overBudgetMs: 5_000,
  pauseAboveBytes: 256 * 1024,
  maxBufferedBytes: 1024 * 1024,
  maxSubscriptions: 100,
  maxSocketsPerSession: 20,
  maxSocketsPerAddress: 1_000,
  maxHandshakesPerAddress: 100,
}

export function socketLimits({ authenticateWithinMs, ...limits }: WebSocketLimits): SocketLimits {
  const checked: { -readonly [Name in keyof DefaultLimits]: number } = { ...DEFAULT_LIMITS }
  for (const name of Object.keys(checked) as (keyof DefaultLimits)[])
    checked[name] = requirePositive(`webSocketOptions: ${name}`, limits[name] ?? checked[name])
  if (authenticateWithinMs === undefined) return checked
  requirePositive('webSocketOptions: authenticateWithinMs', authenticateWithinMs, MAX_TIMER_MS)
  return { ...checked, authenticateWithinMs }
}
