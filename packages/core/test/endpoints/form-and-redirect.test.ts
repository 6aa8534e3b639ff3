import { defineEndpoint } from '@sallyport/core/auth'
import { AUTH_PATH } from '@sallyport/core/internal/protocol'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, expect, test } from 'vitest'
import * as z from 'zod'

const takeForm = defineEndpoint({
  method: 'POST',
  path: '/take-form',
  caller: 'anyone',
  origin: null,
  accepts: 'form',
  setsCookies: true,
  input: z.strictObject({ name: z.string() }),
  output: z.object({}),
  run: async ({ name }) => ({
    body: {},
    cookies: [`name=${name}`],
    redirect: `https://app.example/hello?name=${name}`,
  }),
})
const auth = await createTestAuth({ plugins: [{ id: 'forms', endpoints: { takeForm } }] })
afterAll(() => auth.close())

const url = `http://localhost:3000${AUTH_PATH}/take-form`
const send = (body: string, type = 'application/x-www-form-urlencoded; charset=utf-8') =>
  auth.handler(new Request(url, { method: 'POST', body, headers: { 'content-type': type } }))

test('an endpoint can take a form, and respond with a redirect that is not stored', async () => {
  const response = await send('name=Ada')
  expect([response.status, response.headers.get('location')]).toEqual([
    303,
    'https://app.example/hello?name=Ada',
  ])
  expect(response.headers.getSetCookie()).toEqual(['name=Ada'])
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(await response.text()).toBe('')
})

test.each([
  ['with a repeated field', 'name=Ada&name=Eve', undefined, '400 INVALID_INPUT'],
  ['with an unknown field', 'name=Ada&more=1', undefined, '400 INVALID_INPUT'],
  ['in JSON', '{"name":"Ada"}', 'application/json', '415 UNSUPPORTED_MEDIA_TYPE'],
])('a form %s is rejected, without a redirect', async (_name, body, type, expected) => {
  const response = await send(body, type)
  expect(`${response.status} ${(await response.json()).code}`).toBe(expected)
  expect(response.headers.has('location')).toBe(false)
})

test('an endpoint that takes JSON rejects a form, which other sites can send', async () => {
  const response = await auth.handler(
    new Request(`http://localhost:3000${AUTH_PATH}/sign-in/email`, {
      method: 'POST',
      body: 'email=a',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-sallyport': '1' },
    }),
  )
  expect(response.status).toBe(415)
})
