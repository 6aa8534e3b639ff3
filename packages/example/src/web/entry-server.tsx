import type { QueryClient } from '@tanstack/react-query'
import { renderToReadableStream } from 'react-dom/server'
import { StaticRouter } from 'react-router'
import { App } from './app.tsx'
import { createClients } from './clients.ts'
import type { Rendered } from './rendered.ts'

export { createQueryClient } from './clients.ts'
export { matchPage, nextPath } from './match-page.ts'

interface RenderOptions {
  /** The path and the query. */
  readonly url: string
  readonly rendered: Rendered
  readonly queryClient: QueryClient
  /** For the scripts that React adds. */
  readonly nonce: string
}

/** Renders the markup of a page as a stream. */
export const render = ({ url, rendered, queryClient, nonce }: RenderOptions) =>
  renderToReadableStream(
    <StaticRouter location={url}>
      <App {...createClients(rendered.state)} queryClient={queryClient} rendered={rendered} />
    </StaticRouter>,
    { nonce },
  )
