const TAB = 0x09
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Whether a text frame is a JSON array, which tRPC handles as a batch of calls. */
export function isBatch(frame: Uint8Array): boolean {
  return frame[skipSpace(frame, 0)] === OPEN_BRACKET
}

/** Yields the calls of a batch one by one, as the bytes that were sent. tRPC checks whether each call is JSON. */
export function* splitBatch(frame: Buffer): Generator<Buffer, void> {
  let start = skipSpace(frame, 0) + 1
  if (frame[skipSpace(frame, start)] === CLOSE_BRACKET) return
  while (start <= frame.length) {
    const end = endOfCall(frame, start)
    const call = frame.subarray(start, end)
    // tRPC would take an array inside the array, delivered alone, as a batch.
    yield isBatch(call) ? call.subarray(0, 0) : call
    if (frame[end] !== COMMA) return
    start = end + 1
  }
}

/** The index of the comma or bracket after a call, or of the end of the frame. */
function endOfCall(frame: Uint8Array, start: number): number {
  let depth = 0
  let isString = false
  for (let index = start; index < frame.length; index++) {
    const byte = frame[index]
    if (isString) {
      if (byte === BACKSLASH) index++
      else if (byte === QUOTE) isString = false
    } else if (byte === QUOTE) isString = true
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if (depth === 0 && (byte === COMMA || byte === CLOSE_BRACKET)) return index
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--
  }
  return frame.length
}

function skipSpace(frame: Uint8Array, start: number): number {
  let index = start
  while (isSpace(frame[index])) index++
  return index
}

function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB
}
