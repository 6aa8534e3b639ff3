const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A JSON object whose members are unchecked. */
export type JsonObject = Readonly<Record<string, unknown>>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parses a JSON object. @throws Error on a BOM, invalid UTF-8 (RFC 8259 section 8.1), and other JSON */
export function parseJsonObject(bytes: Uint8Array): JsonObject {
  const value: unknown = JSON.parse(utf8.decode(bytes))
  if (!isJsonObject(value)) throw new TypeError('A JSON object was expected')
  return value
}

export function countStrings(bytes: Uint8Array): number {
  return utf8.decode(bytes).match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0
}
