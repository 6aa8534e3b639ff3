import type { AuthHandler } from '../ssr/token-source.ts'

export interface RouteHandlerOptions {
  /**
   * The header with the address of the connection, for rate limits. Set it only if your proxy or platform
   * overwrites it on every request. Next.js doesn't, and passes on a forged `x-forwarded-for`.
   */
  readonly addressHeader?: string
}

/** The exports of a `route.ts`. */
export type RouteHandlers = Readonly<
  Record<'GET' | 'POST' | 'OPTIONS', (request: Request) => Promise<Response>>
>

/**
 * Creates the exports of a `route.ts`. Without `addressHeader`, no rate limit uses an address.
 *
 * @example export const { GET, POST, OPTIONS } = createRouteHandlers(handler, { addressHeader: 'x-real-ip' })
 */
export function createRouteHandlers(
  handler: AuthHandler,
  { addressHeader }: RouteHandlerOptions = {},
): RouteHandlers {
  const handle = (request: Request) => {
    const remoteAddress = addressHeader === undefined ? undefined : request.headers.get(addressHeader)
    return handler(request, { remoteAddress: remoteAddress ?? undefined })
  }
  return { GET: handle, POST: handle, OPTIONS: handle }
}
