import { expect } from 'vitest'
import { logOf, newEmail, openControlRoom, PASSWORD, longTest as test } from './open-control-room.ts'
import { violationsOf } from './page-checks.ts'

const room = openControlRoom()

test.each([
  { name: 'Ada', email: 'ada@example.com' },
  { name: 'Grace', email: 'grace@example.com' },
])('in development, one click signs in as $name', async ({ name, email }) => {
  const { page, open } = await room.openBrowser()
  await open('/sign-in')
  await page.getByRole('button', { name: `Sign in as ${name}` }).click()
  await page.getByRole('banner').getByText(email).waitFor()
})

test('the link that is printed after a sign-up confirms the email', async () => {
  const { email } = await room.createUser('A note')
  const [, link = ''] = await room.printed(new RegExp(`${email} \\(verify-email\\): (\\S+)\\n`))
  // In a browser that the account doesn't know, the page asks for the password.
  const { page, open, mayLog } = await room.openBrowser()
  mayLog(logOf(401))
  await open(link)
  const confirm = page.getByRole('button', { name: 'Confirm email' })
  await confirm.click()
  await page.getByLabel('Password').fill('a wrong password')
  expect(await violationsOf(page)).toEqual([])
  await confirm.click()
  await page.getByRole('alert').getByText('The password is wrong.').waitFor()
  await page.getByLabel('Password').fill(PASSWORD)
  await confirm.click()
  await page.getByText('Your email is confirmed.').waitFor()
  const users = room.db.selectFrom('user').select('emailVerified').where('email', '=', email)
  expect(Boolean((await users.executeTakeFirstOrThrow()).emailVerified)).toBe(true)
})

test('organizations: create, invite, accept after a sign-up, switch', async () => {
  const owner = await room.signUp({ name: 'Ada' })
  const { page } = owner
  await owner.open('/organizations')
  await page.getByText('No organizations yet.').waitFor()
  for (const name of ['Acme', 'Beta']) {
    await page.getByLabel('New organization').fill(name)
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('table', { name: 'Your organizations' }).getByText(name).waitFor()
  }
  const members = page.getByRole('table', { name: 'Members of Acme' })
  await members.getByText('owner').waitFor()
  const email = newEmail()
  await page.getByLabel('Email to invite').fill(email)
  await page.getByLabel('Role').selectOption('admin')
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByText(`Invited ${email}.`).waitFor()
  expect(await violationsOf(page)).toEqual([])
  const [, link = ''] = await room.printed(new RegExp(`${email} may join Acme as admin: (\\S+)\\n`))

  // The guest opens the link, creates an account, and returns to the invitation.
  const guest = await room.openBrowser()
  await guest.open(link)
  await guest.page.getByRole('link', { name: 'Create an account' }).click()
  await guest.page.getByLabel('Name', { exact: true }).fill('Grace')
  await guest.page.getByLabel('Email').fill(email)
  await guest.page.getByLabel('Password').fill(PASSWORD)
  await guest.page.getByRole('button', { name: 'Sign up' }).click()
  await guest.page.getByRole('button', { name: 'Accept invitation' }).click()
  await guest.page.getByText('You are a member of the organization.').waitFor()
  await guest.page.getByRole('link', { name: 'Go to your organizations' }).click()
  const membersSeen = guest.page.getByRole('table', { name: 'Members of Acme' })
  await membersSeen.getByRole('rowheader', { name: 'Ada', exact: true }).waitFor()

  await page.getByRole('button', { name: 'Switch to Beta' }).click()
  await page.getByRole('table', { name: 'Members of Beta' }).getByText(owner.email).waitFor()
  expect(await page.getByRole('table', { name: 'Members of Beta' }).getByText(email).count()).toBe(0)
})

test('an invitation for another account is rejected, and the user can sign out', async () => {
  const owner = await room.signUp()
  await owner.call('organizations.create', { name: 'Gamma' })
  const email = newEmail()
  await owner.call('organizations.invite', { email, role: 'member' })
  const [, link = ''] = await room.printed(new RegExp(`${email} may join Gamma as member: (\\S+)\\n`))
  owner.mayLog(logOf(403))
  await owner.open(link)
  await owner.page.getByRole('button', { name: 'Accept invitation' }).click()
  await owner.page.getByText('Sign in with the email address that was invited').waitFor()
  await owner.page.getByRole('button', { name: 'Sign out' }).click()
  await owner.page.getByLabel('Email').waitFor()
})
