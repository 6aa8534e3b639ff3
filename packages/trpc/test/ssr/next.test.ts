import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createProxy } from '@sallyport/trpc/next'
import { NextRequest } from 'next/server.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cookieWith, createScene, type Jwt, pageRequest, type Scene } from './scene.ts'

describe('the Next.js proxy', () => {
  let scene: Scene
  let proxy: ReturnType<typeof createProxy>
  const server = createServer(getRequestListener((request) => scene.auth.handler(request)))
  beforeAll(async () => {
    scene = await createScene('in this process', { clock: { now: () => new Date(), advance: () => {} } })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    proxy = createProxy({ config: scene.auth.config, token: { url } })
  })
  afterAll(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await scene.close()
  })

  /** Returns the browser's new cookies, and the cookies that server components see. */
  async function pass(cookie: string) {
    const response = await proxy(new NextRequest(pageRequest(cookie)))
    return {
      setCookies: response.headers.getSetCookie(),
      cacheControl: response.headers.get('cache-control'),
      cookie: response.headers.get('x-middleware-request-cookie'),
      overrides: response.headers.get('x-middleware-override-headers')?.split(','),
    }
  }

  test('leaves a page with a valid JWT unchanged', async () => {
    const { cookie } = await scene.auth.signIn()
    expect(await pass(cookie)).toMatchObject({ setCookies: [], cacheControl: null, cookie })
  })

  test.each<Jwt>(['expired', 'missing', 'garbage'])(
    'sends a new JWT to the browser and the server components if the old one is %s',
    async (jwt) => {
      const session = await scene.auth.signIn()
      const { setCookies, cacheControl, cookie } = await pass(await cookieWith(jwt, scene, session))
      expect(cacheControl).toBe('private, no-store')
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
