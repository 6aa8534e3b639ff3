import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import { dumpTables } from '../support/dump-tables.ts'
import { everyPasswordOption, startEveryPlugin } from '../support/every-plugin.ts'
import { insertOrganization } from '../support/insert-organization.ts'
import { openBrowser } from '../support/open-browser.ts'

const page = readFileSync(join(import.meta.dirname, '../../../../docs/events.md'), 'utf8')
const [, section = ''] = page.split('## Retention')
const [, statements = ''] = /```sql\n([\s\S]*?)```/.exec(section) ?? []

const auth = await createTestAuth({
  emailPassword: everyPasswordOption,
  plugins: await startEveryPlugin(),
})
afterAll(() => auth.close())

const ADDRESS = '198.51.100.77'
const AGENT = 'a browser of Ada'

test('after the statements of the guide, nothing stored has the personal data of a deleted user', async () => {
  const ada = openBrowser(auth, { address: ADDRESS, headers: { 'user-agent': AGENT } })
  const account = { name: 'Ada', email: 'ada@example.com', username: 'countess', password: TEST_PASSWORD }
  const { userId } = (await ada.call('signUpEmail', account)).body
  const bob = await auth.createUser()
  const { organizationId } = await insertOrganization(auth, { [userId]: 'owner', [bob.userId]: 'owner' })
  for (const [name, input] of [
    ['updateUser', { name: 'Ada Lovelace' }],
    ['inviteMember', { organizationId, email: 'eve@example.com', role: 'member' }],
    ['deleteUser', {}],
  ] as const)
    expect((await ada.call(name, input)).status).toBe('200')

  const personal = new RegExp([ADDRESS, AGENT, account.name, account.email, account.username].join('|'))
  const tablesWithData = async () =>
    Object.entries(await dumpTables(auth)).flatMap(([table, rows]) =>
      personal.test(JSON.stringify(rows)) ? [table] : [],
    )
  await expect.poll(tablesWithData).toEqual(['sallyport_audit'])
  for (const statement of statements.split(';').filter((text) => text.trim() !== ''))
    await sql.raw(statement.replaceAll("'...'", `'${userId}'`)).execute(auth.db)
  expect(await tablesWithData()).toEqual([])
})
