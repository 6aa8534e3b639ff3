interface UpgradedSocket {
  readonly destroyed: boolean
  destroy(): unknown
  once(event: 'close', listener: () => void): unknown
}

const upgraded = new Set<UpgradedSocket>()

/** Remembers a connection that becomes a WebSocket, because a server forgets its upgraded connections. */
export function rememberUpgraded(socket: UpgradedSocket): void {
  if (socket.destroyed) return
  upgraded.add(socket)
  socket.once('close', () => upgraded.delete(socket))
}

/** Cuts the WebSockets of a server, whose connections have it as `server`. */
export function cutUpgraded(server: unknown): void {
  for (const socket of upgraded) if ('server' in socket && socket.server === server) socket.destroy()
}
