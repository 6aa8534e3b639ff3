import type { HydrationState } from '@sallyport/trpc/ssr'
import type { DehydratedState, QueryClient } from '@tanstack/react-query'
import { renderToReadableStream } from 'react-dom/server'
import { StaticRouter } from 'react-router'
import { App } from './app.tsx'
import { createClients } from './clients.ts'

export { createQueryClient } from './clients.ts'
export { HOME, routes } from './routes.tsx'

/** What a page tells its script. */
export interface Rendered {
  readonly state: HydrationState
  readonly queries: DehydratedState
}

interface RenderOptions {
  readonly path: string
  readonly state: HydrationState
  readonly queryClient: QueryClient
  /** For the scripts that React writes itself. */
  readonly nonce: string
}

/** The markup of a page, piece by piece. */
export const render = ({ path, state, queryClient, nonce }: RenderOptions) =>
  renderToReadableStream(
    <StaticRouter location={path}>
      <App {...createClients(state)} queryClient={queryClient} />
    </StaticRouter>,
    { nonce },
  )
