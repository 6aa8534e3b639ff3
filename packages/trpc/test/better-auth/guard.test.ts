import { expect, test } from 'vitest'
import { openApp } from './open-app.ts'

test('a signed-in user calls a protected procedure, and a signed-out one gets SESSION_NOT_FOUND', async () => {
  const { auth, call, jar, signUp, signIn } = await openApp()
  await signUp()
  await signIn()
  expect(await (await call()).json()).toMatchObject({ result: { data: 'ada@example.com' } })
  await auth.api.signOut({ headers: new Headers({ cookie: String(jar) }) })
  expect(await (await call()).json()).toMatchObject({
    error: { data: { auth: { reason: 'SESSION_NOT_FOUND' } } },
  })
})
