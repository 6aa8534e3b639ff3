/**
 * Returns the status of a response, and its code if it is a rejection: `401 TOKEN_MISSING`. Reads the body.
 */
export async function statusOf(answer: Response | Promise<Response>): Promise<string> {
  const response = await answer
  const { code } = await response.json()
  return code === undefined ? `${response.status}` : `${response.status} ${code}`
}
