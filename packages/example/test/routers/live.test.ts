import { afterAll, beforeAll, expect, test } from 'vitest'
import { BASE_URL, type OpenApp, openApp, type SignedIn } from '../open-app.ts'

let app: OpenApp
let ada: SignedIn
let grace: SignedIn
beforeAll(async () => {
  app = await openApp()
  ada = await app.signIn('ada')
  grace = await app.signIn('grace')
})
afterAll(() => app.close())

test('the changes of all users are for admins only', async () => {
  const answer = await grace.jar.fetch(`${BASE_URL}/trpc/live.everyone`, { headers: { 'x-sallyport': '1' } })
  expect(await answer.text()).toContain('"reason":"ROLE_REQUIRED"')
})

test.each([
  ['they add a note', 'notes', () => grace.client.notes.add.mutate({ text: 'water the plants' })],
  ['they sign in elsewhere', 'sessions', () => app.signIn('grace')],
  [
    'they create an organization',
    'organizations',
    () => grace.client.organizations.create.mutate({ name: 'Acme' }),
  ],
  ['they are banned', 'account', () => ada.api.banUser({ userId: grace.userId })],
])('when %s, the pages of the user get the topic %s', async (_what, topic, change) => {
  const { changesOf } = await import('../../src/live.ts')
  const leave = new AbortController()
  const changes = changesOf(grace.userId, leave.signal)
  expect((await changes.next()).value).toBe('all')
  await change()
  expect((await changes.next()).value).toBe(topic)
  leave.abort()
})

test('admins get the changes of all users', async () => {
  const { changesOfEveryone } = await import('../../src/live.ts')
  const changes = changesOfEveryone(new AbortController().signal)
  expect((await changes.next()).value).toBe('all')
  await ada.api.unbanUser({ userId: grace.userId })
  expect((await changes.next()).value).toBe('users')
})
