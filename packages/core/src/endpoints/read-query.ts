import { reject } from '../protocol/endpoint-error.ts'

/**
 * The query of a request as texts by name.
 *
 * @throws EndpointError `INVALID_INPUT` when a name occurs twice: which of the two counts would be a guess
 */
export function readQuery(request: Request): Record<string, string> {
  const { searchParams } = new URL(request.url)
  const repeated = new Set<string>()
  const seen = new Set<string>()
  for (const name of searchParams.keys()) (seen.has(name) ? repeated : seen).add(name)
  if (repeated.size > 0) throw reject('INVALID_INPUT', { fields: [...repeated] })
  return Object.fromEntries(searchParams)
}
