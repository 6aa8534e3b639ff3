import { AUTH_PATH, CLIENT_HEADER, ENDPOINTS, MAX_BATCH_SIZE } from '@sallyport/core/internal/protocol'
import { createTRPCClient, httpBatchLink } from '@trpc/client'
import { toRejection } from '../support/outcome.ts'
import type { StormRouter } from './storm-node.ts'

/** A sign-in attempt, and its client. */
export interface Attempt {
  readonly email: string
  readonly password: string
  /** The client's address, as the proxy reports it. */
  readonly address: string
}

/** The response to an attempt. */
export interface Answer {
  readonly status: number
  /** A code such as `RATE_LIMITED`, or empty if the attempt succeeded. */
  readonly code: string
  readonly isJson: boolean
  /** The value of `Retry-After`. In a mixed batch, the value in the call's own error. */
  readonly retryAfterSeconds: number
}

/** Sends an attempt to `/api/auth`. */
export async function tryOverHttp(node: string, { email, password, address }: Attempt): Promise<Answer> {
  const response = await fetch(`${node}${AUTH_PATH}${ENDPOINTS.signInEmail.path}`, {
    method: 'POST',
    headers: { ...headersFrom(address), 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  const { code = '' }: { code?: string } = await response.json()
  return { status: response.status, code, ...readHeaders(response) }
}

/** Sends attempts in one batch of the app's own procedure, all from the first one's address. */
export async function tryInBatch(node: string, attempts: readonly Attempt[]): Promise<Answer[]> {
  const responses: Response[] = []
  const link = httpBatchLink({
    url: `${node}/trpc`,
    maxItems: MAX_BATCH_SIZE,
    headers: headersFrom(attempts[0]?.address ?? ''),
    async fetch(input, { signal, ...init } = {}) {
      const response = await fetch(input, { ...init, signal: signal ?? null })
      responses.push(response)
      return response
    },
  })
  const client = createTRPCClient<StormRouter>({ links: [link] })
  const rejections = await Promise.all(
    attempts.map(({ email, password }) =>
      client.signIn.mutate({ email, password }).then(() => null, toRejection),
    ),
  )
  const [response, ...others] = responses
  if (response === undefined || others.length > 0) throw new TypeError('One batch is one request')
  return rejections.map((rejection) => {
    const { httpStatus: status, code, auth } = rejection ?? { httpStatus: 200, code: '', auth: null }
    const answer = { status, code: auth?.reason ?? code, ...readHeaders(response) }
    return response.status === 207 ? { ...answer, retryAfterSeconds: auth?.retryAfterSeconds ?? 0 } : answer
  })
}

function headersFrom(address: string): Record<string, string> {
  return { [CLIENT_HEADER]: '1', 'x-forwarded-for': address }
}

function readHeaders({ headers }: Response): Pick<Answer, 'isJson' | 'retryAfterSeconds'> {
  return {
    isJson: headers.get('content-type')?.startsWith('application/json') ?? false,
    retryAfterSeconds: Number(headers.get('retry-after')),
  }
}
