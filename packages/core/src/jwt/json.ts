const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Parses JSON bytes; throws on a byte order mark or anything that is not UTF-8 (RFC 8259 section 8.1). */
export function parseJson(bytes: Uint8Array): unknown {
  return JSON.parse(utf8.decode(bytes))
}

/** How many strings valid JSON is made of, names of members included. */
export function countStrings(bytes: Uint8Array): number {
  return utf8.decode(bytes).match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0
}
