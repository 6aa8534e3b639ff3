import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { NextRequest } from 'next/server.js'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { cookieWith, createScene, type Jwt, pageRequest, type Scene } from './scene.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const app = fileURLToPath(new URL('../types/next/', import.meta.url))

// `test/documents` compiles the other files.
test.each(['proxy.ts', 'app/user.tsx'])('docs/ssr.md has the text of %s', (part) => {
  const code = readFileSync(join(app, part), 'utf8')
  const language = part.endsWith('x') ? 'tsx' : 'ts'
  const document = readFileSync(join(root, 'docs/ssr.md'), 'utf8')
  expect(document).toContain(`\`\`\`${language}\n// ${part}\n${code}\`\`\`\n`)
})

describe('the Next.js proxy', () => {
  let scene: Scene
  let proxy: (request: NextRequest) => Promise<Response>
  const server = createServer(getRequestListener((request) => scene.auth.handler(request)))
  beforeAll(async () => {
    scene = await createScene('in this process', { clock: { now: () => new Date(), advance: () => {} } })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    vi.stubEnv('BASE_URL', scene.auth.config.baseUrl)
    vi.stubEnv('AUTH_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    vi.stubEnv('JWKS', JSON.stringify(scene.auth.definition.signingKeys.publicJwks))
    // Next.js is compiled with separate settings.
    const module: { proxy: typeof proxy } = await import(join(app, 'proxy.ts'))
    proxy = module.proxy
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await scene.close()
  })

  /** Returns the browser's new cookies, and the cookies that server components see. */
  async function pass(cookie: string) {
    const response = await proxy(new NextRequest(pageRequest(cookie)))
    return {
      setCookies: response.headers.getSetCookie(),
      cookie: response.headers.get('x-middleware-request-cookie'),
      overrides: response.headers.get('x-middleware-override-headers')?.split(','),
    }
  }

  test('leaves a page with a valid JWT unchanged', async () => {
    const { cookie } = await scene.auth.signIn()
    expect(await pass(cookie)).toMatchObject({ setCookies: [], cookie })
  })

  test.each<Jwt>(['expired', 'missing', 'garbage'])(
    'sends a new JWT to the browser and the server components if the old one is %s',
    async (jwt) => {
      const session = await scene.auth.signIn()
      const { setCookies, cookie } = await pass(await cookieWith(jwt, scene, session))
      const [pair] = setCookies.map((setCookie) => setCookie.split(';')[0] ?? '')
      expect(cookie).toBe(`theme=dark; service.session=${session.sessionCookie}; ${pair}`)
    },
  )

  test('deletes the cookies of an ended session, and hides them from server components', async () => {
    const session = await scene.auth.signIn()
    await scene.auth.revoke(session)
    const { setCookies, cookie, overrides } = await pass(
      `service.jwt=garbage; service.session=${session.sessionCookie}`,
    )
    expect(setCookies).toHaveLength(2)
    expect(cookie).toBeNull()
    expect(overrides).not.toContain('cookie')
  })
})
