import { TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'
import { logOf, longTest, newEmail, openControlRoom, PASSWORD } from './open-control-room.ts'
import { violationsOf } from './page-checks.ts'
import { hydrated } from './visitor.ts'

const room = openControlRoom()

/** Each test begins without users of the provider. */
beforeEach(async () => {
  await room.db.deleteFrom('account').where('providerId', '=', 'demo').execute()
  await room.db.deleteFrom('user').where('email', 'in', ['alan@example.com', 'barbara@example.com']).execute()
})

const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

/** Signs in as a person of the demo provider. */
async function signInWithProvider(page: Page, person: 'Alan' | 'Barbara') {
  await click(page, 'Sign in with the demo provider')
  await continueAs(page, person)
}

/** Clicks a person on the page of the demo provider. */
const choose = (page: Page, person: 'Alan' | 'Barbara') =>
  page.getByRole('button', { name: `Continue as ${person}` }).click()

/** Continues at the provider, and waits for the page of the example that it redirects to. */
async function continueAs(page: Page, person: 'Alan' | 'Barbara') {
  await choose(page, person)
  await hydrated(page)
}

async function signOut(page: Page) {
  await click(page, 'Sign out')
  await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
}

/** Plugs in a device. Returns a function that sets whether its user confirms everything at once. */
async function plugInAuthenticator(page: Page) {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return (enabled: boolean) =>
    devtools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })
}

async function addPasskey(page: Page, name: string) {
  await page.getByLabel('Name of a new passkey').fill(name)
  await click(page, 'Add a passkey')
  await page.getByLabel('Passkey', { exact: true }).waitFor()
}

/** Moves the last proof of all sessions to more than a minute ago. */
async function ageSessions(...methods: ('oauth' | 'passkey')[]) {
  const lastAuthenticatedAt = new Date(Date.now() - 61_000)
  const seconds = Math.floor(lastAuthenticatedAt.getTime() / 1000)
  const amr = JSON.stringify(Object.fromEntries(methods.map((method) => [method, seconds])))
  await room.db.updateTable('session').set({ amr, lastAuthenticatedAt }).execute()
}

/** Moves the last proof of a user's sessions to half an hour ago. */
async function ageSession(userId: string) {
  const lastAuthenticatedAt = new Date(Date.now() - 30 * 60_000)
  await room.db.updateTable('session').set({ lastAuthenticatedAt }).where('userId', '=', userId).execute()
}

longTest(
  'a person of the demo provider adds a passkey, unlinks the provider, and signs in with the passkey',
  async () => {
    const { page, open, titles, mayLog } = await room.openBrowser()
    await open('/account')
    await click(page, 'Sign in with the demo provider')
    await page.getByText('This provider is only for development').waitFor()
    expect(await violationsOf(page)).toEqual([])
    await continueAs(page, 'Alan')
    await page.getByRole('banner').getByText('alan@example.com').waitFor()
    expect(new URL(page.url()).pathname).toBe('/account')

    mayLog(logOf(401))
    await signOut(page)
    await open('/sign-in?next=/account')
    await signInWithProvider(page, 'Alan')
    await page.getByRole('banner').getByText('alan@example.com').waitFor()

    const confirmAtOnce = await plugInAuthenticator(page)
    await addPasskey(page, 'Laptop')
    expect(await violationsOf(page)).toEqual([])
    await page.getByLabel('Passkey', { exact: true }).fill('Old laptop')
    await click(page, 'Rename')
    await click(page, 'Unlink')
    await page.getByRole('button', { name: 'Link the demo provider' }).waitFor()

    await confirmAtOnce(false)
    await signOut(page)
    const offered = page.waitForResponse(/create-passkey-sign-in-options/)
    await open('/sign-in?next=/account')
    await offered
    expect(await violationsOf(page)).toEqual([])
    await confirmAtOnce(true)
    await click(page, 'Sign in with a passkey')
    await page.getByRole('banner').getByText('alan@example.com').waitFor()
    await click(page, 'Sign out')
    // The browser offers the passkey in the username field, where the user confirms it.
    const pages = async () => (await titles()).filter((title) => title !== 'Signing out …')
    await expect.poll(pages).toEqual(['Sign in', 'Account', 'Sign in', 'Account'])
    expect(await page.getByLabel('Passkey', { exact: true }).inputValue()).toBe('Old laptop')
    // Codes go to verified addresses only.
    const alan = room.db
      .updateTable('user')
      .set({ emailVerified: false })
      .where('email', '=', 'alan@example.com')
    await alan.execute()
    mayLog(logOf(409))
    await click(page, 'Remove')
    await page.getByRole('alert').getByText('This is your last way to sign in').waitFor()
  },
)

test('a browser without passkeys says so', async () => {
  const { page, open } = await room.openBrowser()
  await page.addInitScript(() => Reflect.deleteProperty(globalThis, 'PublicKeyCredential'))
  await open('/sign-in')
  await click(page, 'Sign in with a passkey')
  await page.getByText('This browser does not support passkeys.').waitFor()
})

longTest('a user with a password links the provider, and a passkey completes both sign-ins', async () => {
  const { page, open, email, userId, mayLog } = await room.signUp()
  await open('/account')
  await click(page, 'Link the demo provider')
  await continueAs(page, 'Barbara')
  await page.getByRole('alert').getByText('Confirm your email first').waitFor()
  await room.db.updateTable('user').set({ emailVerified: true }).where('id', '=', userId).execute()
  await click(page, 'Link the demo provider')
  await continueAs(page, 'Barbara')
  await page.getByRole('button', { name: 'Unlink' }).waitFor()
  const confirmAtOnce = await plugInAuthenticator(page)
  await addPasskey(page, 'Laptop')

  await confirmAtOnce(false)
  mayLog(logOf(401))
  await signOut(page)
  await open('/sign-in?next=/account')
  await signInWithProvider(page, 'Barbara')
  await page.getByRole('button', { name: 'Confirm with a passkey' }).waitFor()
  expect(page.url()).not.toMatch(/challenge|error/)
  await confirmAtOnce(true)
  await click(page, 'Confirm with a passkey')
  await page.getByRole('banner').getByText(email).waitFor()

  await confirmAtOnce(false)
  await signOut(page)
  await open('/sign-in')
  mayLog(logOf(403))
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await click(page, 'Sign in')
  await page.getByRole('button', { name: 'Confirm with a passkey' }).waitFor()
  await confirmAtOnce(true)
  await click(page, 'Confirm with a passkey')
  await page.getByRole('banner').getByText(email).waitFor()
})

test('a sign-in that has expired at the provider says so, and the next one works', async () => {
  const { page, open } = await room.openBrowser()
  await open('/sign-in')
  await click(page, 'Sign in with the demo provider')
  await page.getByText('This provider is only for development').waitFor()
  await room.db.$extendTables<{ oauthFlow: { id: string } }>().deleteFrom('oauthFlow').execute()
  await continueAs(page, 'Barbara')
  await page.getByText('This sign-in has expired or was used. Start again.').waitFor()
  await signInWithProvider(page, 'Barbara')
  await page.getByRole('banner').getByText('barbara@example.com').waitFor()
})

test('a user without a password confirms an action at the provider, or with a passkey', async () => {
  const { page, open, mayLog } = await room.openBrowser()
  await open('/account')
  await signInWithProvider(page, 'Barbara')
  await page.getByRole('button', { name: 'Unlink' }).waitFor()
  await ageSessions('oauth')
  mayLog(logOf(403))
  await click(page, 'New API key')
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Confirm that it is you').waitFor()
  expect(await dialog.getByLabel('Password').count()).toBe(0)
  // The socket may end, and the page refresh, before the response with the new cookies arrives.
  mayLog(logOf(409))
  const confirmAs = async (person: 'Alan' | 'Barbara') => {
    const opened = page.waitForEvent('popup')
    await click(page, 'Confirm at the demo provider')
    await choose(await opened, person)
  }
  await confirmAs('Alan')
  await dialog.getByText('This is another account of the provider').waitFor()
  await confirmAs('Barbara')
  await page.getByText("Copy this key now. You can't see it again.").waitFor()

  await plugInAuthenticator(page)
  await addPasskey(page, 'Laptop')
  await ageSessions('passkey')
  await click(page, 'New API key')
  await click(page, 'Use a passkey')
  await dialog.waitFor({ state: 'detached' })
  await page.getByText("Copy this key now. You can't see it again.").waitFor()
})

async function requestCode(page: Page, email: string) {
  await click(page, 'Sign in with a code by email')
  await page.getByLabel('Email for the code').fill(email)
  await click(page, 'Send the code')
  await page.getByRole('status').getByText('it gets a code').waitFor()
}

longTest('a user signs in with a code from an email', async () => {
  const { email } = await room.createUser('written by Grace')
  const { page, open, mayLog } = await room.openBrowser()
  await open('/notes')
  await requestCode(page, email)
  expect(await violationsOf(page)).toEqual([])

  mayLog(logOf(400))
  await page.getByLabel('Code', { exact: true }).fill('BBBB-BBBB')
  await click(page, 'Sign in with the code')
  await page.getByRole('alert').getByText('This code is wrong or has expired').waitFor()
  const [, code = ''] = await room.printed(new RegExp(`Email to ${email} \\(email-code\\): (\\S+)`))
  await page.getByLabel('Code', { exact: true }).fill(code.toLowerCase())
  await click(page, 'Sign in with the code')
  await page.getByRole('banner').getByText(email).waitFor()
  await page.getByText('written by Grace').waitFor()
})

test('a user signs in with the link of an email, in the browser that requested it', async () => {
  const { email } = await room.createUser('written by Grace')
  const { page, open } = await room.openBrowser()
  await open('/notes')
  await requestCode(page, email)
  const [, link = ''] = await room.printed(new RegExp(`Email to ${email} \\(email-code\\): \\S+ or (\\S+)`))

  const other = await room.openBrowser()
  other.mayLog(logOf(400))
  await other.open(link)
  expect(await violationsOf(other.page)).toEqual([])
  await click(other.page, 'Sign in')
  await other.page.getByRole('alert').getByText('This link').waitFor()
  await open(link)
  await click(page, 'Sign in')
  await page.getByText('written by Grace').waitFor()
})

longTest('an admin who has no second factor adds a passkey, and confirms an action with it', async () => {
  const { page, open, mayLog } = await room.signUp({ role: 'admin' })
  mayLog(logOf(403))
  await plugInAuthenticator(page)
  await open('/account')
  await click(page, 'New API key')
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Add a passkey or an authenticator app on the Account page first').waitFor()
  expect(await violationsOf(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await addPasskey(page, 'Laptop')
  await ageSessions('passkey')
  mayLog(logOf(409))
  await click(page, 'New API key')
  await dialog.getByText('It continues after you use a passkey').waitFor()
  expect([await dialog.getByLabel('Code').count(), await dialog.getByLabel('Password').count()]).toEqual([
    0, 0,
  ])
  await click(page, 'Use a passkey')
  await page.getByText("Copy this key now. You can't see it again.").waitFor()
})

longTest(
  'a visitor continues without an account, confirms an action, and keeps the notes when creating one',
  async () => {
    const { page, open, mayLog } = await room.openBrowser()
    const banner = page.getByRole('banner')
    await open('/notes')
    await click(page, 'Continue without an account')
    await banner.getByText('No account yet').waitFor()
    await page.getByLabel('New note').fill('written without an account')
    await click(page, 'Add')
    await page.getByText('written without an account').waitFor()

    mayLog(logOf(403))
    await page.getByRole('link', { name: 'Organizations' }).click()
    await page.getByLabel('New organization').fill('Acme')
    await click(page, 'Create')
    await page.getByRole('alert').getByText('Create an account first').waitFor()

    await open('/account')
    expect(await violationsOf(page)).toEqual([])
    expect(await page.getByText('anonymous.invalid').count()).toBe(0)
    await ageSessions()
    await click(page, 'New API key')
    const dialog = page.getByRole('dialog')
    // Signing in again would lead to another user.
    expect(await dialog.getByRole('button', { name: 'Sign in again' }).count()).toBe(0)
    mayLog(logOf(409))
    await click(page, 'Continue')
    await page.getByText("Copy this key now. You can't see it again.").waitFor()

    const email = newEmail()
    await page.getByLabel('Name').fill('Grace')
    await page.getByLabel('Email').fill('grace@example.com')
    await page.getByLabel('Password').fill(PASSWORD)
    await click(page, 'Create account')
    await page.getByRole('alert').getByText('An account with this email exists').waitFor()
    await page.getByLabel('Email').fill(email)
    await click(page, 'Create account')
    await banner.getByText(email).waitFor()
    await page.getByRole('heading', { name: 'Ways to sign in' }).waitFor()

    mayLog(logOf(401))
    await signOut(page)
    await open('/notes')
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await click(page, 'Sign in')
    await page.getByText('written without an account').waitFor()
  },
)

longTest('a user chooses a username, and signs in with it', async () => {
  const { page, open, email, mayLog } = await room.signUp()
  await open('/account')
  mayLog(logOf(409))
  await page.getByLabel('Username').fill('admin')
  await click(page, 'Choose username')
  await page.getByRole('alert').getByText('This username is taken or reserved').waitFor()
  const username = `grace-${email.slice(0, 12)}`
  await page.getByLabel('Username').fill(username.toUpperCase())
  await click(page, 'Choose username')
  await page.getByRole('button', { name: 'Change username' }).waitFor()
  expect(await violationsOf(page)).toEqual([])

  mayLog(logOf(401))
  await signOut(page)
  await open('/sign-in?next=/account')
  await page.getByLabel('Email or username').fill(username)
  await page.getByLabel('Password').fill(PASSWORD)
  await click(page, 'Sign in')
  await page.getByRole('banner').getByText(email).waitFor()
  expect(await page.getByLabel('Username').inputValue()).toBe(username)
})

test('a forgotten password is replaced by the printed link, once', async () => {
  const { page, open, mayLog } = await room.openBrowser()
  const { email } = await room.createUser('A note to find again')
  await open('/sign-in')
  await page.getByRole('link', { name: 'Forgot password?' }).click()
  // Both pages have a field for the email.
  await page.getByRole('heading', { name: 'Forgot password' }).waitFor()
  await page.getByLabel('Email').fill(email)
  await page.getByRole('button', { name: 'Send link' }).click()
  await page.getByText('If this account exists, the link has been sent.').waitFor()
  const [, link = ''] = await room.printed(new RegExp(`${email} \\(reset-password\\): (\\S+)\\n`))

  await open(link)
  await page.getByLabel('New password').fill('another long password')
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByText('Your password has been changed.').waitFor()
  await page.getByRole('main').getByRole('link', { name: 'Sign in' }).click()
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill('another long password')
  await page.keyboard.press('Enter')
  await page.getByText('A note to find again').waitFor()

  mayLog(logOf(400))
  await open(link)
  await page.getByLabel('New password').fill('a third long password')
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByText('This link has expired or has been used').waitFor()
  await open('/reset-password')
  await page.getByLabel('New password').fill('a third long password')
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByText('This link is incomplete.').waitFor()
  expect(await page.getByRole('link', { name: 'Request another link' }).isVisible()).toBe(true)
})

longTest(
  'a signed-in user who sets a new password by the link is told, although the session ends',
  async () => {
    const { page, open, email, mayLog } = await room.signUp()
    await open('/forgot-password')
    await page.getByLabel('Email').fill(email)
    await page.getByRole('button', { name: 'Send link' }).click()
    const [, link = ''] = await room.printed(new RegExp(`${email} \\(reset-password\\): (\\S+)\\n`))
    mayLog(logOf(401))
    await open(link)
    await page.getByLabel('New password').fill('another long password')
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Sign in' }).waitFor()
    await page.getByText('Your password has been changed.').waitFor()
  },
)

/**
 * Returns the code of the step that is `steps` from now. The server accepts the previous, current, and next
 * step, and each code once.
 */
const codeOf = (secret: string, steps: number) =>
  new TOTP({ secret }).generate({ timestamp: Date.now() + steps * 30_000 })

const enterCode = (page: Page, code: string) => page.getByLabel('Code', { exact: true }).fill(code)

/** The field of a code has the focus when it appears. */
const enterFirstCode = (page: Page, code: string) =>
  page.getByLabel('Code', { exact: true }).and(page.locator(':focus')).fill(code)

/** Sets up an app on the Account page. Returns its secret, and the recovery codes. */
async function setUpApp(page: Page): Promise<{ secret: string; recoveryCodes: readonly string[] }> {
  await click(page, 'Set up an app')
  await page.getByAltText('QR code for your app').waitFor()
  expect(await violationsOf(page)).toEqual([])
  const secret = (await page.locator('.totp-secret').textContent()) ?? ''
  await enterFirstCode(page, codeOf(secret, 0))
  await click(page, 'Confirm')
  return { secret, recoveryCodes: await takeRecoveryCodes(page) }
}

async function takeRecoveryCodes(page: Page): Promise<readonly string[]> {
  const codes = page.locator('.recovery-codes li')
  await codes.first().waitFor()
  const texts = await codes.allTextContents()
  await click(page, 'I have saved them')
  await page.getByText('Recovery codes left: 10').waitFor()
  return texts
}

/** Signs out, and sends the password. */
async function signInAgain(page: Page, email: string) {
  await signOut(page)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await click(page, 'Sign in')
}

test('a user sets up an app, signs in with a code, and confirms an action with one', async () => {
  const { page, open, email, mayLog } = await room.signUp()
  await open('/account')
  const { secret, recoveryCodes } = await setUpApp(page)
  expect(recoveryCodes).toHaveLength(10)

  for (const status of [400, 401, 403]) mayLog(logOf(status))
  await signInAgain(page, email)
  await enterFirstCode(page, '000000')
  await click(page, 'Confirm')
  await page.getByRole('alert').getByText('This code is wrong').waitFor()
  await enterCode(page, codeOf(secret, 1))
  await click(page, 'Confirm')
  await page.getByRole('banner').getByText(email).waitFor()

  const aMinuteAgo = JSON.stringify({ pwd: 1, otp: Math.floor(Date.now() / 1000) - 61 })
  await room.db.updateTable('session').set({ amr: aMinuteAgo }).where('amr', 'like', '%otp%').execute()
  await open('/account')
  await page.getByRole('button', { name: 'New API key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Confirm with a code').waitFor()
  await dialog.getByLabel('Code', { exact: true }).fill(recoveryCodes[0] ?? '')
  await dialog.getByRole('button', { name: 'Confirm', exact: true }).click()
  await page.getByText("Copy this key now. You can't see it again.").waitFor()
})

test('a user whose session is no longer fresh confirms it while they set up an app or a passkey', async () => {
  const { page, open, userId, mayLog } = await room.signUp()
  await plugInAuthenticator(page)
  await open('/account')
  const confirm = async () => {
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Password').fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Confirm', exact: true }).click()
  }
  mayLog(logOf(403))

  await click(page, 'Set up an app')
  const secret = (await page.locator('.totp-secret').textContent()) ?? ''
  await ageSession(userId)
  await enterFirstCode(page, codeOf(secret, 0))
  await click(page, 'Confirm')
  await confirm()
  await takeRecoveryCodes(page)

  await page.route('**/add-passkey', (route) => ageSession(userId).then(() => route.continue()), { times: 1 })
  const added = addPasskey(page, 'Laptop')
  await confirm()
  await added
})

longTest(
  'a user signs in with a recovery code, trusts the browser, gets new codes, and removes the app',
  async () => {
    const { page, open, email, mayLog } = await room.signUp()
    const banner = page.getByRole('banner').getByText(email)
    await open('/account')
    const { recoveryCodes } = await setUpApp(page)
    const [first = '', second = ''] = recoveryCodes
    await room.printed(new RegExp(`Email to ${email} \\(totp-enabled\\)`))

    for (const status of [400, 401, 403]) mayLog(logOf(status))
    await signInAgain(page, email)
    await enterFirstCode(page, first)
    await page.getByLabel('Trust this browser for 30 days').check()
    await click(page, 'Confirm')
    await banner.waitFor()
    await signInAgain(page, email)
    await banner.waitFor()

    await open('/account')
    await page.getByText('Recovery codes left: 9').waitFor()
    await click(page, 'New recovery codes')
    await enterCode(page, second)
    await click(page, 'Create recovery codes')
    const [replaced = ''] = await takeRecoveryCodes(page)
    await click(page, 'Remove the app')
    await enterCode(page, first)
    await click(page, 'Remove the app')
    await page.getByRole('alert').getByText('This code is wrong').waitFor()
    await enterCode(page, replaced)
    await click(page, 'Remove the app')
    await page.getByRole('button', { name: 'Set up an app' }).waitFor()
  },
)

longTest(
  'an admin resets the second factor of a user, who then signs in with the password alone',
  async () => {
    const user = await room.signUp()
    await user.open('/account')
    await setUpApp(user.page)
    user.mayLog(logOf(401))
    const { page, open, email } = await room.signUp({ role: 'admin' })
    await open(`/admin/users/${user.userId}`)
    await page.getByRole('list', { name: 'Ways to sign in' }).getByText('Authenticator app').waitFor()
    await click(page, 'Reset factors')
    const dialog = page.getByRole('dialog', { name: `Remove the second factors of ${user.email}?` })
    expect(await violationsOf(page)).toEqual([])
    await dialog.getByLabel('Reason').fill('Lost phone, saw the passport')
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await dialog.waitFor({ state: 'detached' })
    await user.page.getByText('Your session has ended').waitFor()
    await room.printed(new RegExp(`Email to ${user.email} \\(totp-disabled\\)`))
    const reason = 'Lost phone, saw the passport.'
    await page.getByRole('link', { name: 'Audit trail of this user' }).click()
    await page.getByText(`The second factors of ${user.email} were removed by ${email}: ${reason}`).waitFor()

    await user.page.getByLabel('Email').fill(user.email)
    await user.page.getByLabel('Password').fill(PASSWORD)
    await click(user.page, 'Sign in')
    await user.page.getByRole('banner').getByText(user.email).waitFor()
  },
)
