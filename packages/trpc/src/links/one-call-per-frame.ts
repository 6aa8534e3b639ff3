/** Splits tRPC's batches: a frame has at most 64 KB, and 20 calls if the app has no `webSocketOptions`. */
export function oneCallPerFrame(
  Base: typeof WebSocket,
  headers: (() => Readonly<Record<string, string>>) | undefined,
): typeof WebSocket {
  return class extends Base {
    constructor(url: string | URL) {
      // The types of browsers have only protocols.
      super(url, (headers && { headers: headers() }) as undefined)
    }

    override send(data: string): void {
      // The encoder of an app sends binary data, no JSON, or one call per frame.
      if (data[0] !== '[') super.send(data)
      else for (const call of JSON.parse(data)) super.send(JSON.stringify(call))
    }
  }
}
