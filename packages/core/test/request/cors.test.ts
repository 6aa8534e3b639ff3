import { defineAuthConfig, withCors } from '@sallyport/core'
import { describe, expect, test } from 'vitest'
import { corsHeaders, respondToPreflight } from '../../src/request/cors.ts'
import { createTokenGate } from '../support/token-gate.ts'

const config = defineAuthConfig({
  baseUrl: 'https://app.example.com/base',
  allowedOrigins: ['https://admin.example.com'],
  jwks: (await createTokenGate()).keySet,
})

describe('the headers', () => {
  test.each(['https://app.example.com', 'https://admin.example.com'])('%s is allowed by name', (origin) => {
    expect(corsHeaders(origin, config)).toEqual({
      vary: 'Origin',
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': 'retry-after',
    })
  })

  test.each(['https://evil.example', 'null', '*', '', null])('%j gets no CORS headers', (origin) => {
    expect(corsHeaders(origin, config)).toEqual({ vary: 'Origin' })
  })
})

describe('a CORS preflight', () => {
  const url = 'https://app.example.com/trpc/post.create'
  const preflight = (headers: Record<string, string>, method = 'OPTIONS') =>
    respondToPreflight(new Request(url, { method, headers }), config)

  test('from a listed origin allows what the client package sends, with credentials and never *', async () => {
    const response = preflight({
      origin: 'https://admin.example.com',
      'access-control-request-method': 'POST',
    })
    expect(response?.status).toBe(204)
    expect(Object.fromEntries(response?.headers ?? [])).toEqual({
      vary: 'Origin',
      'access-control-allow-origin': 'https://admin.example.com',
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': 'retry-after',
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers':
        'content-type, authorization, trpc-accept, last-event-id, x-sallyport, x-sallyport-session',
      'access-control-max-age': '600',
    })
  })

  test('allows and exposes the headers of the configuration, for listed origins only', async () => {
    const allowedHeaders = ['traceparent', 'tracestate', 'baggage']
    const tracing = { ...config, allowedHeaders, exposedHeaders: ['server-timing'] }
    const ask = async (origin: string, method: string) => {
      const asks = { 'access-control-request-method': 'POST' }
      const request = new Request(url, { method, headers: { origin, ...asks } })
      const { headers } = await withCors(request, tracing, () => new Response())
      return ['allow', 'expose'].map((kind) => headers.get(`access-control-${kind}-headers`))
    }
    expect(await ask('https://admin.example.com', 'OPTIONS')).toEqual([
      expect.stringMatching(/x-sallyport-session, traceparent, tracestate, baggage$/),
      'retry-after, server-timing',
    ])
    expect(await ask('https://admin.example.com', 'POST')).toEqual([null, 'retry-after, server-timing'])
    expect(await ask('https://evil.example', 'OPTIONS')).toEqual([null, null])
    expect(await ask('https://evil.example', 'POST')).toEqual([null, null])
  })

  test.each(['https://evil.example', 'null', 'https://app.example.com.evil.example'])(
    'from %s is rejected without a CORS header',
    (origin) => {
      const response = preflight({ origin, 'access-control-request-method': 'POST' })
      expect(response?.status).toBe(403)
      expect(Object.fromEntries(response?.headers ?? [])).toEqual({ vary: 'Origin' })
    },
  )

  test('without an origin is rejected', () => {
    expect(preflight({ 'access-control-request-method': 'POST' })?.status).toBe(403)
  })

  test.each([
    ['another method', { origin: 'https://evil.example', 'access-control-request-method': 'POST' }, 'POST'],
    ['no requested method', { origin: 'https://admin.example.com' }, 'OPTIONS'],
  ])('is not a request with %s', (_name, headers, method) => {
    expect(preflight(headers, method)).toBeNull()
  })
})

describe('a request to the tRPC route', () => {
  const url = 'https://app.example.com/trpc/post.list'
  const answer = () =>
    Response.json([1], { status: 207, headers: { vary: 'trpc-batch-mode', 'x-own': 'kept' } })

  test('from a listed origin gets a response with CORS headers', async () => {
    const request = new Request(url, { headers: { origin: 'https://admin.example.com' } })
    const response = await withCors(request, config, answer)
    expect(response.status).toBe(207)
    expect(await response.json()).toEqual([1])
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'access-control-allow-origin': 'https://admin.example.com',
      'access-control-allow-credentials': 'true',
      vary: 'trpc-batch-mode, Origin',
      'x-own': 'kept',
    })
  })

  test.each([{ origin: 'https://evil.example' }, { origin: 'null' }, {}])(
    'from any other origin gets a response without CORS headers: %j',
    async (headers) => {
      const response = await withCors(new Request(url, { headers }), config, answer)
      expect(response.headers.has('access-control-allow-origin')).toBe(false)
      expect(response.headers.get('vary')).toBe('trpc-batch-mode, Origin')
    },
  )

  test('that is a preflight never reaches the app', async () => {
    let calls = 0
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    const response = await withCors(new Request(url, { method: 'OPTIONS', headers }), config, () => {
      calls++
      return answer()
    })
    expect({ calls, status: response.status }).toEqual({ calls: 0, status: 403 })
  })
})
