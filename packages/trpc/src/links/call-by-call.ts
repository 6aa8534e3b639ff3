/**
 * A class of WebSockets that sends each call in a frame of its own. tRPC puts all calls of a moment into one, and all subscriptions when it
 * connects again; the server refuses a frame of more than 20 calls, and closes the connection at one of more than 64 KB.
 */
export function callByCall(Base: typeof WebSocket): typeof WebSocket {
  return class extends Base {
    override send(data: Parameters<WebSocket['send']>[0]): void {
      // What an encoder of the app has made is no JSON, or a frame of one call.
      if (typeof data !== 'string' || data[0] !== '[') super.send(data)
      else for (const call of JSON.parse(data)) super.send(JSON.stringify(call))
    }
  }
}
