/** Space, tab, line feed, and carriage return. */
const WHITESPACE: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d])
const [OPEN_BRACKET, OPEN_BRACE, COMMA] = [0x5b, 0x7b, 0x2c]

/** Whether a frame is a JSON array, which tRPC handles as a batch of calls. */
export function isBatch(frame: Uint8Array): boolean {
  return frame[skipSpace(frame, 0)] === OPEN_BRACKET
}

/** Whether a frame begins with the first call of a batch, as only JSON does. */
export function hasCall(frame: Uint8Array): boolean {
  return isBatch(frame) && frame[skipSpace(frame, skipSpace(frame, 0) + 1)] === OPEN_BRACE
}

/** Yields the calls of a batch one by one, at least one. tRPC checks whether each is JSON. */
export function* splitBatch(frame: Buffer): Generator<Buffer, void> {
  let end = skipSpace(frame, 0)
  do {
    const start = end + 1
    end = endOfCall(frame, start)
    const call = frame.subarray(start, end)
    // tRPC would take an array inside the array, delivered alone, as a batch.
    yield isBatch(call) ? call.subarray(0, 0) : call
  } while (frame[end] === COMMA)
}

/** Returns the index of the comma or bracket after a call, or of the end of the frame. */
function endOfCall(frame: Buffer, start: number): number {
  let depth = 0
  let isString = false
  for (let index = start; index < frame.length; index++) {
    const char = String.fromCharCode(frame[index] ?? 0)
    if (isString) {
      if (char === '\\') index++
      else if (char === '"') isString = false
    } else if (char === '"') isString = true
    else if (char === '{' || char === '[') depth++
    else if (depth === 0 && (char === ',' || char === ']')) return index
    else if (char === '}' || char === ']') depth--
  }
  return frame.length
}

function skipSpace(frame: Uint8Array, start: number): number {
  let index = start
  while (WHITESPACE.has(frame[index])) index++
  return index
}
