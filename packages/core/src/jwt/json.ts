const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A JSON object whose members nobody has looked at yet. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a value is what JSON calls an object: no list, and not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Parses the bytes of a JSON object.
 *
 * @throws Error on a byte order mark, on anything that is not UTF-8 (RFC 8259 section 8.1), and on JSON of another kind
 */
export function parseJsonObject(bytes: Uint8Array): JsonObject {
  const value: unknown = JSON.parse(utf8.decode(bytes))
  if (!isJsonObject(value)) throw new TypeError('A JSON object was expected')
  return value
}

/** How many strings valid JSON is made of, names of members included. */
export function countStrings(bytes: Uint8Array): number {
  return utf8.decode(bytes).match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0
}
