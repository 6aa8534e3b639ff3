interface UpgradedSocket {
  readonly destroyed: boolean
  destroy(): unknown
  on(event: 'close', listener: (this: UpgradedSocket) => void): unknown
}

const upgraded = new Set<UpgradedSocket>()

/** Remembers a connection that becomes a WebSocket, because a server forgets its upgraded connections. */
export function rememberUpgraded(socket: UpgradedSocket): void {
  if (socket.destroyed) return
  upgraded.add(socket)
  socket.on('close', forget)
}

function forget(this: UpgradedSocket): void {
  upgraded.delete(this)
}

/** Cuts the WebSockets of a server, whose connections have it as `server`. */
export function cutUpgraded(server: unknown): void {
  for (const socket of upgraded) if ('server' in socket && socket.server === server) socket.destroy()
}
