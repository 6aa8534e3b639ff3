/** What an error says. All that the server tells is meant for users; anything else is a defect of the page. */
export const messageOf = (error: unknown): string | null =>
  error === null || error === undefined ? null : error instanceof Error ? error.message : String(error)
