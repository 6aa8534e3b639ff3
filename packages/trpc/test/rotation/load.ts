import { setTimeout as sleep } from 'node:timers/promises'
import { CLIENT_HEADER, ENDPOINTS } from '@sallyport/core/internal/protocol'
import { cookieNames } from '../../../core/src/request/cookie.ts'
import { until } from '../../../core/test/support/until.ts'
import type { User } from './users.ts'

/** The base URL that the nodes are configured with. */
export const BASE_URL = 'http://localhost:3000'

const cookies = cookieNames('service', { secure: false })

/** Clients that call the nodes, and the results. */
export interface Load {
  readonly counts: {
    readonly calls: number
    readonly refreshes: number
    readonly unauthorized: number
    readonly serverErrors: number
    readonly otherErrors: number
  }
  /** Every response other than 200. */
  readonly rejections: readonly string[]
  /** The ids of the keys that signed clients' JWTs. */
  readonly signers: ReadonlySet<string>
  /** Waits until no node signs with a key, and no client has a JWT that it signed. */
  untilUnused(kid: string): Promise<void>
  stop(): Promise<void>
}

/** Calls `me` on a node. */
export function callMe(node: string, jwt: string, sessionCookie?: string): Promise<Response> {
  const session = sessionCookie === undefined ? '' : `; ${cookies.session}=${sessionCookie}`
  return request(`${node}/trpc/me`, `${cookies.jwt}=${jwt}${session}`)
}

function request(url: string, cookie: string): Promise<Response> {
  return fetch(url, { headers: { cookie, origin: BASE_URL, [CLIENT_HEADER]: '1' } })
}

/**
 * Makes every user call the nodes in turn, and refresh the JWT in time at either of them.
 *
 * @param options.pauseMs how long a user pauses after each call
 */
export function startLoad(
  nodes: readonly string[],
  users: readonly User[],
  options: { refreshAfterMs: number; pauseMs: number },
): Load {
  const counts = { calls: 0, refreshes: 0, unauthorized: 0, serverErrors: 0, otherErrors: 0 }
  const rejections: string[] = []
  const signers = new Set<string>()
  const lastSigners = new Map<string, string>()
  /** The refreshes of each user that were sent, and the last one that has a response. */
  const refreshes = users.map(() => ({ sent: 0, finished: 0 }))
  let isOver = false

  async function useApp({ sessionCookie }: User, first: number): Promise<void> {
    let [jwt, refreshedAt] = ['', Number.NEGATIVE_INFINITY]
    const own = refreshes[first] ?? { sent: 0, finished: 0 }
    for (let turn = first; !isOver; turn++) {
      const node = nodes[turn % nodes.length] ?? ''
      const isRefresh = performance.now() - refreshedAt > options.refreshAfterMs
      if (isRefresh) own.sent++
      const response = isRefresh
        ? await request(`${node}/api/auth${ENDPOINTS.token.path}`, `${cookies.session}=${sessionCookie}`)
        : await callMe(node, jwt, sessionCookie)
      const text = await response.text()
      if (response.status !== 200) reject(response.status, text)
      else if (!isRefresh) counts.calls++
      else {
        counts.refreshes++
        refreshedAt = performance.now()
        jwt = jwtOf(response)
        signers.add(kidOf(jwt))
        lastSigners.set(node, kidOf(jwt))
        own.finished = own.sent
      }
      await sleep(options.pauseMs)
    }
  }

  function reject(status: number, text: string): void {
    rejections.push(`${status} ${text}`)
    if (status === 401) counts.unauthorized++
    else if (status >= 500) counts.serverErrors++
    else counts.otherErrors++
  }

  const clients = users.map(useApp)
  return {
    counts,
    rejections,
    signers,
    async untilUnused(kid) {
      await until(() => nodes.every((node) => ![undefined, kid].includes(lastSigners.get(node))))
      const before = refreshes.map(({ sent }) => sent)
      await until(() => refreshes.every(({ finished }, i) => finished > (before[i] ?? 0)))
    },
    async stop() {
      isOver = true
      await Promise.all(clients)
    },
  }
}

function jwtOf(response: Response): string {
  const setCookie =
    response.headers.getSetCookie().find((header) => header.startsWith(`${cookies.jwt}=`)) ?? ''
  return setCookie.slice(cookies.jwt.length + 1).split(';')[0] ?? ''
}

function kidOf(jwt: string): string {
  return JSON.parse(Buffer.from(jwt.split('.')[0] ?? '', 'base64url').toString()).kid
}
