import { readFileSync } from 'node:fs'
import { Miniflare } from 'miniflare'

/** A Worker that runs in workerd. */
export interface ServedWorker extends AsyncDisposable {
  readonly origin: string
  /** The D1 database `DB`. */
  readonly database: Awaited<ReturnType<Miniflare['getD1Database']>>
}

/**
 * Serves a bundled Worker.
 *
 * @param bindings its variables, to which `BASE_URL` is added
 */
export async function serveWorker(
  file: string,
  { port, bindings }: { port: number; bindings: Record<string, string> },
): Promise<ServedWorker> {
  const origin = `http://localhost:${port}`
  const miniflare = new Miniflare({
    modules: true,
    script: readFileSync(file, 'utf8'),
    port,
    compatibilityDate: '2026-07-01',
    compatibilityFlags: ['nodejs_compat'],
    d1Databases: { DB: 'app' },
    bindings: { BASE_URL: origin, ...bindings },
  })
  await miniflare.ready
  return {
    origin,
    database: await miniflare.getD1Database('DB'),
    [Symbol.asyncDispose]: () => miniflare.dispose(),
  }
}
