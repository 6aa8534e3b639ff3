import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import { authHandlerOptions, createAuthContext, createHandler, webSocketOptions } from '@sallyport/trpc'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { appRouter } from '../support/router.ts'
import { createStage } from '../support/stage.ts'
import { bundlePage } from './bundle-page.ts'

/** A page on one host, and the auth endpoints and the API on `api.example.com`, over https. */
export interface TwoHosts extends AsyncDisposable {
  /** The origin of the page. */
  readonly origin: string
  readonly auth: TestAuth
  /** The paths of the requests to the API. */
  readonly requests: readonly string[]
}

type CookieOptions = Pick<
  NonNullable<Parameters<typeof createTestAuth>[0]>,
  'cookieDomain' | 'cookieSameSite'
>

/** Serves a page of that host. The browser must find the names on this machine and accept any certificate. */
export async function serveTwoHosts(pageHost: string, options: CookieOptions): Promise<TwoHosts> {
  const script = await bundlePage(fileURLToPath(new URL('./pages/two-hosts-page.ts', import.meta.url)))
  const server = createServer(createCertificate())
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new TypeError('A port was expected')
  const origin = `https://${pageHost}:${address.port}`
  const baseUrl = `https://api.example.com:${address.port}`
  const auth = await createTestAuth({ baseUrl, allowedOrigins: [origin], ...options })
  const { config, db } = auth
  const added = { db, stage: createStage(async () => {}) }
  const context = createAuthContext(config)
  const handle = createHandler({
    auth,
    config,
    router: appRouter,
    createContext: (o) => ({ ...context.http(o), ...added }),
  })
  const requests: string[] = []
  const pages = new Map([
    ['/', ['text/html', '<!doctype html><title>Page</title><script src="/page.js"></script>']],
    ['/page.js', ['text/javascript', script]],
  ])
  const listener = getRequestListener((request, { incoming }) => {
    const { host, pathname } = new URL(request.url)
    if (host === new URL(baseUrl).host) {
      requests.push(pathname)
      return handle(request, incoming.socket)
    }
    const [type = 'text/plain', body = ''] = pages.get(pathname) ?? []
    return new Response(body, { headers: { 'content-type': type } })
  })
  server.on('request', (req, res) => void listener(req, res))
  const wss = new WebSocketServer({ server, path: '/trpc', ...webSocketOptions(config) })
  const createContext = (o: Parameters<typeof context.ws>[0]) => ({ ...context.ws(o), ...added })
  applyWSSHandler({ wss, router: appRouter, createContext, ...authHandlerOptions })
  return {
    origin,
    auth,
    requests,
    async [Symbol.asyncDispose]() {
      for (const socket of wss.clients) socket.terminate()
      server.closeAllConnections()
      server.close()
      await auth.close()
    },
  }
}

/** Creates a self-signed certificate. */
export function createCertificate(): { key: Buffer; cert: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-certificate-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const names = ['-subj', '/CN=example.com', '-days', '1', '-keyout', key, '-out', cert]
  const kind = ['-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  try {
    execFileSync('openssl', ['req', ...kind, ...names], { stdio: 'ignore' })
    return { key: readFileSync(key), cert: readFileSync(cert) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
