/** What one socket sends, as fast as the server reads. */
export interface AttackPlan {
  frame(sent: number): string
  /** Whether it reads what the server sends. */
  readonly reads: boolean
  /** Frames that it sends on one socket. @default Infinity */
  readonly most?: number
  /** The codes that the server closes it with; 1006 where it is terminated. */
  readonly closedWith: readonly number[]
}

const call = (id: number, method: string, path: string) =>
  JSON.stringify({ id, method, params: { path, input: null } })
const OVERSIZED = 'x'.repeat(80 * 1024)

/** A client masks its frames: 6 bytes besides the payload. */
export const ATTACKS = {
  'frames of 7 bytes': { frame: () => '1', reads: true, closedWith: [4429, 1006] },
  'malformed frames': { frame: (sent) => `{"id":${sent},"method":`, reads: true, closedWith: [4429, 1006] },
  'oversized frames': { frame: () => OVERSIZED, reads: true, closedWith: [1009, 1006] },
  'a stream that is never read': {
    frame: (sent) => call(sent, 'subscription', 'values'),
    reads: false,
    most: 50,
    closedWith: [1006],
  },
  'a flood of subscriptions': {
    frame: (sent) => call(sent, 'subscription', 'idle'),
    reads: true,
    closedWith: [4429, 1006],
  },
  'batches of calls': {
    frame: () => `[${Array.from({ length: 1_000 }, (_, id) => call(id, 'query', 'me'))}]`,
    reads: true,
    closedWith: [4429, 1006],
  },
} as const satisfies Record<string, AttackPlan>

export type Attack = keyof typeof ATTACKS
