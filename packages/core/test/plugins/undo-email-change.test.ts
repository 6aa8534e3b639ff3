import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, expect, test } from 'vitest'
import { replaceRecoveryCodes } from '../../src/plugins/totp/recovery-codes.ts'
import { withOwnTables } from '../../src/plugins/totp/tables.ts'
import { dumpTables } from '../support/dump-tables.ts'
import { everyPasswordOption, startEveryPlugin } from '../support/every-plugin.ts'
import { insertLink } from '../support/insert-link.ts'
import { insertOauthAccount, insertOauthCode } from '../support/insert-oauth.ts'
import { insertPasskey } from '../support/insert-passkey.ts'
import { insertChallenge, insertTotp } from '../support/insert-totp.ts'
import { readAudit } from '../support/read-audit.ts'
import { post } from '../support/requests.ts'
import { statusOf } from '../support/status-of.ts'

const HOUR_SECONDS = 3_600
const auth = await createTestAuth({
  emailPassword: everyPasswordOption,
  plugins: await startEveryPlugin(),
})
afterAll(() => auth.close())

/** What a thief may add to an account, and the table that then has a row of the user. */
const ADDITIONS = [
  { what: 'a passkey', table: 'passkeyCredential', add: (userId: string) => insertPasskey(auth, userId) },
  { what: 'a provider', table: 'account', add: (userId: string) => insertOauthAccount(auth, userId) },
  {
    what: 'a provider with an unused code for an app',
    table: 'account',
    add: (userId: string) => insertOauthCode(auth, userId),
  },
  { what: 'an app', table: 'totp', add: (userId: string) => insertTotp(auth, [userId]) },
  { what: 'recovery codes', table: 'recoveryCode', add: (userId: string) => addRecoveryCodes(userId) },
] as const

const addRecoveryCodes = (userId: string) =>
  auth.db.transaction().execute((trx) => replaceRecoveryCodes(trx, userId, auth.clock.now()))

const rowsOf = async (userId: string, table: string) =>
  (await dumpTables(auth))[table]?.filter((row) => row.userId === userId && row.providerId !== 'credential')

/** Changes the email of a user. Returns a function that undoes it, within an hour. */
async function changeEmail({ userId, email }: { userId: string; email: string }) {
  const token = await insertLink(auth, { kind: 'undo-email-change', userId, email })
  return async () => expect((await auth.handler(post('/undo-email-change', { token }))).status).toBe(200)
}

test.each(ADDITIONS)(
  'undoing an email change removes $what added within a day before it, or after it',
  async ({ table, add }) => {
    const [before, after, other] = [await auth.createUser(), await auth.createUser(), await auth.createUser()]
    for (const { userId } of [before, other]) await add(userId)
    auth.clock.advance(23 * HOUR_SECONDS)
    const undoings = [await changeEmail(before), await changeEmail(after)]
    auth.clock.advance(HOUR_SECONDS / 2)
    await add(after.userId)
    for (const undo of undoings) await undo()
    for (const { userId } of [before, after]) expect(await rowsOf(userId, table)).toEqual([])
    expect(await rowsOf(other.userId, table)).not.toEqual([])
  },
)

test.each(ADDITIONS)(
  'undoing an email change keeps $what added more than a day before',
  async ({ table, add }) => {
    const owner = await auth.createUser()
    await add(owner.userId)
    const had = await rowsOf(owner.userId, table)
    expect(had).not.toEqual([])
    auth.clock.advance(25 * HOUR_SECONDS)
    const undo = await changeEmail(owner)
    await undo()
    expect(await rowsOf(owner.userId, table)).toEqual(had)
  },
)

test.each([
  { confirmed: 'just before the change', seconds: 0 },
  { confirmed: 'never', seconds: null },
])('an app that was prepared days before, and confirmed $confirmed, is removed', async ({ seconds }) => {
  const user = await auth.createUser()
  await insertTotp(auth, [user.userId], { isConfirmed: false })
  auth.clock.advance(72 * HOUR_SECONDS)
  const confirmedAt = seconds === null ? null : auth.clock.now()
  await withOwnTables(auth.db)
    .updateTable('totp')
    .set({ confirmedAt })
    .where('userId', '=', user.userId)
    .execute()
  const undo = await changeEmail(user)
  await undo()
  expect(await rowsOf(user.userId, 'totp')).toEqual([])
})

test('a sign-in that the former password began can no longer be completed', async () => {
  const owner = await auth.createUser()
  const { code } = await insertTotp(auth, [owner.userId])
  auth.clock.advance(48 * HOUR_SECONDS)
  const challenge = await insertChallenge(auth, owner.userId)
  const undo = await changeEmail(owner)
  await undo()
  expect(await rowsOf(owner.userId, 'totp')).toHaveLength(1)
  const completed = auth.handler(post('/sign-in/totp', { challenge, code }))
  expect(await statusOf(completed)).toBe('400 CHALLENGE_INVALID')
})

test('an app that the owner had stays, without the recovery codes of the thief', async () => {
  const owner = await auth.createUser()
  await insertTotp(auth, [owner.userId])
  auth.clock.advance(48 * HOUR_SECONDS)
  const addedSince = new Date(auth.clock.now().getTime() - 24 * HOUR_SECONDS * 1000).toISOString()
  const undo = await changeEmail(owner)
  await addRecoveryCodes(owner.userId)
  await undo()
  expect(await rowsOf(owner.userId, 'totp')).toHaveLength(1)
  expect(await rowsOf(owner.userId, 'recoveryCode')).toEqual([])
  expect((await readAudit(auth, owner.userId)).at(-1)).toMatchObject({
    type: 'user.email-change-undone',
    addedSince,
  })
})
