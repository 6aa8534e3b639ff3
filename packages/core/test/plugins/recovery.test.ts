import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import { everyPasswordOption, startEveryPlugin } from '../support/every-plugin.ts'
import { insertLink } from '../support/insert-link.ts'
import { insertOauthAccount } from '../support/insert-oauth.ts'
import { insertPasskey } from '../support/insert-passkey.ts'
import { insertTotp } from '../support/insert-totp.ts'
import { createOutbox } from '../support/outbox.ts'
import { get, post } from '../support/requests.ts'
import { statusOf } from '../support/status-of.ts'

const page = readFileSync(join(import.meta.dirname, '../../../../docs/second-factors.md'), 'utf8')
const [, section = ''] = page.split('## When a user has lost everything')
const statements = Array.from(section.matchAll(/```sql\n([\s\S]*?)```/g), ([, text = '']) => text)
  .join('')
  .split(';')
  .filter((statement) => statement.trim() !== '')

const { sendEmail, takeLink } = createOutbox()
const plugins = await startEveryPlugin()
const auth = await createTestAuth({ emailPassword: { ...everyPasswordOption, sendEmail }, plugins })
afterAll(() => auth.close())

const call = (path: string, body: object, cookie = '') => statusOf(auth.handler(post(path, body, { cookie })))

test('a user who has lost everything gets the account back, and a thief of all of it keeps nothing', async () => {
  const owner = await auth.createUser()
  const { userId } = owner
  const root = await auth.signIn({ role: 'admin' })
  const thief = await auth.signIn(owner)
  await Promise.all([
    insertTotp(auth, [userId]),
    insertPasskey(auth, userId),
    insertOauthAccount(auth, userId),
  ])
  const undo = await insertLink(auth, { ...owner, kind: 'undo-email-change' })

  expect(statements).toHaveLength(3)
  for (const statement of statements)
    await sql.raw(statement.replaceAll("'...'", `'${userId}'`)).execute(auth.db)
  expect(await call('/admin/reset-user-factors', { userId, reason: 'saw the passport' }, root.cookie)).toBe(
    '200',
  )

  const email = 'new@example.com'
  const session = auth.handler(get('/session', { cookie: thief.cookie }))
  expect(await statusOf(session)).toBe('401 SESSION_NOT_FOUND')
  expect(await call('/undo-email-change', { token: undo })).toBe('400 LINK_INVALID')
  for (const address of [owner.email, email])
    expect(await call('/sign-in/email', { email: address, password: TEST_PASSWORD })).toBe(
      '401 INVALID_CREDENTIALS',
    )
  expect(await auth.db.selectFrom('account').selectAll().where('userId', '=', userId).execute()).toEqual([])

  await call('/request-password-reset', { email })
  const { token, to } = await takeLink('reset-password')
  expect(to).toBe(email)
  const newPassword = 'another rare password'
  expect(await call('/reset-password', { token, newPassword })).toBe('200')
  expect(await call('/sign-in/email', { email, password: newPassword })).toBe('200')
})
