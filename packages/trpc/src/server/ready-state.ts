/** The `readyState` of a socket that is open (RFC 6455; `WebSocket.OPEN`). */
const OPEN = 1

/** Whether a WebSocket is open: neither side has begun to close it. */
export function isOpen({ readyState }: { readonly readyState: number }): boolean {
  return readyState === OPEN
}
