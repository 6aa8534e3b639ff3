import { MAX_PAYLOAD_BYTES } from '@sallyport/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BASE_URL, type OpenApp, openApp } from './open-app.ts'

let app: OpenApp
beforeAll(async () => {
  app = await openApp()
})
afterAll(() => app.close())

test.each(['/trpc/notes.add', '/report-service'])(
  '%s: a body over the limit is rejected with 413 before authentication',
  async (path) => {
    const body = 'x'.repeat(MAX_PAYLOAD_BYTES + 1)
    const answer = await app.send(new Request(`${BASE_URL}${path}`, { method: 'POST', body }))
    expect(answer.status).toBe(413)
  },
)

test('a preflight from another site is rejected with 403', async () => {
  const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
  const answer = await app.send(new Request(`${BASE_URL}/trpc/notes.add`, { method: 'OPTIONS', headers }))
  expect(answer.status).toBe(403)
})

test.each([
  { given: 'a note of spaces', text: '   ', message: 'Enter a note' },
  { given: 'a long note', text: 'x'.repeat(2_001), message: 'Enter at most 2,000 characters' },
])('$given is rejected with a message for the user: $message', async ({ text, message }) => {
  const { client } = await app.signIn('grace')
  await expect(client.notes.add.mutate({ text })).rejects.toMatchObject({
    message,
    data: { code: 'BAD_REQUEST' },
  })
})

test('returns the demo users to guests', async () => {
  const answer = await app.send(new Request(`${BASE_URL}/trpc/demo`))
  const { result } = await answer.json()
  expect(result.data).toEqual({
    users: [
      { name: 'Ada', email: 'ada@example.com' },
      { name: 'Grace', email: 'grace@example.com' },
    ],
    password: 'correct horse battery staple',
  })
})

test('exports the sessions of the caller as CSV, but not to guests', async () => {
  const { jar } = await app.signIn('grace')
  const csv = (headers: Record<string, string>) =>
    app.send(new Request(`${BASE_URL}/sessions.csv`, { headers }))
  const answer = await csv({ cookie: jar.header() })
  expect(await answer.text()).toMatch(/^device,address,last seen\n.*,"127\.0\.0\.1","\d{4}-/)
  expect((await csv({})).status).toBe(401)
})

test('a device whose name is a formula is text in the CSV', async () => {
  const headers = { 'content-type': 'application/json', 'x-sallyport': '1', 'user-agent': '=A1,"x"' }
  const body = JSON.stringify({ email: 'grace@example.com', password: 'correct horse battery staple' })
  await app.send(new Request(`${BASE_URL}/api/auth/sign-in/email`, { method: 'POST', headers, body }))
  const { jar } = await app.signIn('grace')
  const cookie = jar.header()
  const answer = await app.send(new Request(`${BASE_URL}/sessions.csv`, { headers: { cookie } }))
  expect(await answer.text()).toContain(`\n"'=A1,""x""",`)
})
