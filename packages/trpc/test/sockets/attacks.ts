/** What a socket sends, as fast as the server reads. */
export interface AttackPlan {
  frame(sent: number): string
  /** Whether it reads what the server sends. */
  readonly reads: boolean
  /** The number of frames on one socket. @default Infinity */
  readonly most?: number
  /** The server's close codes. 1006 if it terminates the socket. */
  readonly closedWith: readonly number[]
}

const call = (id: number, method: string, path: string) =>
  JSON.stringify({ id, method, params: { path, input: null } })
const OVERSIZED = 'x'.repeat(80 * 1024)
/** Slow to parse. */
const NUMBERS = JSON.stringify(Array(30_000).fill(1))

/** Clients mask their frames: 6 bytes plus the payload. */
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
  'large calls': {
    frame: (sent) => `{"id":${sent},"method":"query","params":{"path":"none","input":${NUMBERS}}}`,
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
