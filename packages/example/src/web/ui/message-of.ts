/** What an error says. All that the server tells is meant for users; anything else is a defect of the page. */
export function messageOf(error: unknown): string | null {
  if (error === null || error === undefined) return null
  if (!(error instanceof Error)) return String(error)
  // By that `fetch` tells that nobody has answered, each browser in words of its own.
  return error.cause instanceof TypeError ? 'No connection to the server' : error.message
}
