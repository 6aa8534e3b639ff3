import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { logOf, longTest, newEmail, openControlRoom, PASSWORD } from './open-control-room.ts'
import { violationsOf } from './page-checks.ts'

const room = openControlRoom()

describe('signing in and out', () => {
  test('a guest signs up and signs out, which removes the cookies and the notes', async () => {
    const { context, page, open, titles } = await room.openBrowser()
    const email = newEmail()
    await open('/sign-up')
    await page.getByLabel('Name').fill('Grace')
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.getByText(email).waitFor()
    await addNote(page, 'A note of mine')
    await page.getByRole('listitem').filter({ hasText: 'A note of mine' }).waitFor()

    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    expect(await page.getByText('A note of mine').count()).toBe(0)
    const cookies = async () => (await context.cookies()).map(({ name }) => name)
    // The page offers passkeys, which sets the last one.
    await expect.poll(cookies).toEqual(['service.device', 'service.device-email', 'service.device-passkey'])
    expect(await titles()).toEqual(['Sign up', 'Notes', 'Signing out …', 'Sign in'])
  })

  longTest('a page shows the sign-in form to guests, then itself', async () => {
    const { page, open, mayLog, titles } = await room.openBrowser()
    const { email } = await room.createUser('A note')
    mayLog(logOf(401))
    await open('/sessions')
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill('a wrong password')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('alert').getByText('Email or password is wrong').waitFor()
    expect(await page.getByLabel('Email').inputValue()).toBe(email)

    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByText('This browser', { exact: true }).waitFor()
    expect(await titles()).toEqual(['Sign in', 'Sessions'])
  })

  test('after another user signs in, no tab shows data of the former one', async () => {
    const { page, call, open, openTab, mayLog } = await room.signUp({ name: 'Grace' })
    // The other tab confirms that the session has ended.
    mayLog(logOf(401))
    await call('notes.add', { text: 'A note of Grace' })
    await open('/notes')
    await page.getByText('A note of Grace').waitFor()
    const { email } = await room.createUser('A note of Ada')

    const tab = await openTab('/account')
    await tab.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    const seen = await noteText(page)
    await tab.getByLabel('Email').fill(email)
    await tab.getByLabel('Password').fill(PASSWORD)
    await tab.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('A note of Ada').waitFor()
    expect(await page.getByText(email).count()).toBe(1)
    expect(await seen()).not.toContain('A note of Grace')
  })
})

test('an expired JWT is refreshed during a mutation, which runs once', async () => {
  const visitor = await room.signUp()
  const { page } = visitor
  visitor.mayLog(logOf(401))
  // Wait for the refetch of the live page, which would be rejected too.
  const isLive = page.waitForResponse(/notes\.list/)
  await visitor.open('/notes')
  await isLive
  await visitor.expireJwt()
  const answers: string[] = []
  page.on('response', (response) => {
    const { pathname } = new URL(response.url())
    if (/notes\.add|token/.test(pathname)) answers.push(`${pathname} ${response.status()}`)
  })
  await addNote(page, 'Once')
  await page.getByRole('listitem').filter({ hasText: 'Once' }).waitFor()
  expect(answers).toEqual(['/trpc/notes.add 401', '/api/auth/backend/token 200', '/trpc/notes.add 200'])
  expect(await visitor.titles()).toEqual(['Notes'])

  await visitor.expireJwt()
  expect(await visitor.open('/notes')).toContain('Once')
  expect(await page.getByRole('listitem').count()).toBe(1)
  expect(await visitor.titles()).toEqual(['Notes'])
  expect(answers.length).toBe(3)
})

longTest('a double click on a slow device sends a form once', async () => {
  const { page, context, open } = await room.signUp()
  await open('/notes')
  const session = await context.newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: 6 })
  await page.getByLabel('New note').fill('Only once')
  await page.getByRole('button', { name: 'Add' }).dblclick()
  await page.getByRole('listitem').first().waitFor()
  expect(await page.getByRole('listitem').count()).toBe(1)
})

describe('an unreachable server', () => {
  const opened = room.share(async () => {
    const visitor = await room.signUp()
    await visitor.call('notes.add', { text: 'From the beginning' })
    await visitor.open('/notes')
    return visitor
  })

  test('a mutation without a connection fails at once; the message disappears when the connection is back', async () => {
    const { page, context, mayLog } = await opened()
    mayLog(/ERR_INTERNET_DISCONNECTED/)
    await context.setOffline(true)
    await addNote(page, 'A draft')
    await page.getByRole('alert').getByText('No connection to the server').first().waitFor()
    await context.setOffline(false)
    await page.getByText('No connection to the server').first().waitFor({ state: 'detached' })
    expect(await page.getByLabel('New note').inputValue()).toBe('A draft')
  })

  for (const [signal, run] of [
    ['SIGTERM', longTest],
    ['SIGKILL', test],
  ] as const)
    run(`after ${signal}, the page keeps its data and continues when the server is back`, async () => {
      const visitor = await opened()
      const { page } = visitor
      visitor.mayLog(/WebSocket connection|ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/)
      const draft = page.getByLabel('New note')
      await draft.fill(`A draft before ${signal}`)

      await room.stop(signal)
      expect(await page.getByText('From the beginning').isVisible()).toBe(true)
      await room.start()
      await visitor.call('notes.add', { text: `After ${signal}` })
      await page.getByText(`After ${signal}`).waitFor()
      expect(await draft.inputValue()).toBe(`A draft before ${signal}`)
      await draft.press('Enter')
      await page
        .getByRole('listitem')
        .filter({ hasText: `A draft before ${signal}` })
        .waitFor()
      await expect.poll(() => page.getByText('No connection to the server').count()).toBe(0)
      expect(await visitor.titles()).toEqual(['Notes'])
    })
})

describe('actions that need the password', () => {
  test('a new API key, by keyboard only', async () => {
    const visitor = await room.signUp()
    const { page } = visitor
    visitor.mayLog(logOf(403))
    visitor.mayLog(logOf(401))
    await visitor.open('/account')
    await room.db
      .updateTable('session')
      .set({ lastAuthenticatedAt: new Date(Date.now() - 16 * 60_000) })
      .where('id', '=', visitor.sessionId)
      .execute()

    const button = page.getByRole('button', { name: 'New API key' })
    await button.focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Confirm your password' })
    await dialog.waitFor()
    expect(await isFocused(page, 'Password')).toBe(true)
    expect(await violationsOf(page)).toEqual([])
    // The focus stays in the dialog.
    const names = new Set<string>()
    for (let presses = 0; presses < 5; presses++) {
      await page.keyboard.press('Tab')
      expect(await dialog.evaluate((element) => element.contains(document.activeElement))).toBe(true)
      names.add(await page.evaluate(() => document.activeElement?.textContent ?? ''))
    }
    expect([...names]).toEqual(['Sign in again', 'Cancel', 'Confirm', ''])
    expect(await isFocused(page, 'Password')).toBe(false)

    // Escape cancels without an error and restores the focus.
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    const isBack = () =>
      button.evaluate((element) => element === document.activeElement && element.ariaDisabled === 'false')
    await expect.poll(isBack, { timeout: 30_000 }).toBe(true)
    expect((await page.getByRole('alert').allTextContents()).join('')).toBe('')

    await page.keyboard.press('Enter')
    await dialog.waitFor()
    await page.keyboard.insertText('a wrong password')
    await page.keyboard.press('Enter')
    await dialog.getByRole('alert').getByText('The password is wrong').waitFor()
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.insertText(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByText(/^key_[\w-]{32}$/).waitFor()
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(isBack, { timeout: 30_000 }).toBe(true)
  })

  longTest('deleting the account, after a confirmation', async () => {
    const visitor = await room.signUp()
    const { page, userId } = visitor
    // The live page learns of it before the response arrives, and confirms it.
    visitor.mayLog(logOf(401))
    await visitor.open('/account')
    await page.getByRole('button', { name: 'Delete account' }).click()
    const question = page.getByRole('alertdialog', { name: 'Delete your account?' })
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    expect(await usersOf(userId)).toBe(1)

    await page.getByRole('button', { name: 'Delete account' }).click()
    await question.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    expect(await usersOf(userId)).toBe(0)
    expect(await page.getByText('Your session has ended').count()).toBe(0)
  })
})

test('a report shows its progress, then its text', async () => {
  const { page, open } = await room.signUp()
  await open('/reports')
  await page.getByLabel('Title').fill('Sales')
  const steps = await noteProgress(page)
  await page.getByRole('button', { name: 'Generate' }).click()
  await page.getByRole('listitem').filter({ hasText: 'Report: Sales' }).waitFor()
  await page.getByRole('status').getByText('“Sales” is ready.').waitFor()
  const percents = await steps()
  expect(percents.length).toBeGreaterThan(2)
  expect(percents).toEqual(percents.toSorted((a, b) => a - b))
  expect(await page.getByRole('progressbar').count()).toBe(0)
})

longTest('a report in progress survives a visit to another page; reports from elsewhere appear', async () => {
  const { page, open, call } = await room.signUp()
  await open('/reports')
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/trpc/report.generate*', (route) => released.then(() => route.continue()))
  await page.getByLabel('Title').fill('Sales')
  await page.getByRole('button', { name: 'Generate' }).click()
  const bar = page.getByRole('progressbar', { name: 'Writing Sales' })
  await bar.waitFor()
  await page.getByRole('link', { name: 'Notes' }).click()
  await bar.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Reports' }).click()
  await bar.waitFor()

  await call('report.generate', { id: crypto.randomUUID(), title: 'From elsewhere' })
  await page.getByText('Report: From elsewhere').waitFor()
  expect(await bar.count()).toBe(1)
  release()
  await page.getByText('Report: Sales').waitFor()
  await bar.waitFor({ state: 'detached' })
})

// After the tests without a server: the gate polls and would show the outage.
describe('the gate', () => {
  const visitor = room.share(async () => {
    const opened = await room.openBrowser()
    await opened.open('/gate')
    return opened
  })

  test.each([
    { scenario: 'Normal', jwt: 'valid', session: 'valid', result: '200', experience: 'Access granted' },
    {
      scenario: 'User signs out',
      jwt: 'deleted',
      session: 'deleted',
      result: '401',
      experience: 'Redirected to login',
    },
    {
      scenario: 'Admin revokes session',
      jwt: 'valid',
      session: 'deleted',
      result: '401',
      experience: 'Logged out on next request',
    },
    {
      scenario: 'JWT expired, session valid',
      jwt: 'expired',
      session: 'valid',
      result: 'auto-refresh then 200',
      experience: 'Transparent',
    },
    {
      scenario: 'JWT expired, session expired',
      jwt: 'expired',
      session: 'expired',
      result: '401',
      experience: 'Redirected to login',
    },
    {
      scenario: 'JWT valid, session expired',
      jwt: 'valid',
      session: 'expired',
      result: '401',
      experience: 'Logged out on next request',
    },
    {
      scenario: 'User banned',
      jwt: 'valid',
      session: 'valid, banned',
      result: '403',
      experience: 'Account banned message',
    },
  ])(
    '$scenario (JWT $jwt, session $session): $result, $experience',
    async ({ scenario, jwt, session, result, experience }) => {
      const { page, mayLog } = await visitor()
      mayLog(logOf(401))
      const row = page
        .getByRole('listitem')
        .filter({ has: page.getByRole('heading', { name: scenario, exact: true }) })
      expect(await row.textContent()).toContain(`JWT ${jwt} · session ${session}`)
      expect(await row.textContent()).toContain(`Specified: ${result} · ${experience}`)
      await row.getByRole('button').click()
      await row.getByText('✓ As specified').waitFor()
      // In the specified result and in the actual one.
      expect(await row.getByText(`${result} · ${experience}`).count()).toBe(2)
      await page.getByRole('status').getByText(`${scenario}: ${result}, ${experience}`).waitFor()
    },
  )
})

async function addNote(page: Page, text: string): Promise<void> {
  await page.getByLabel('New note').fill(text)
  await page.getByRole('button', { name: 'Add' }).click()
}

async function usersOf(userId: string): Promise<number> {
  const users = await room.db.selectFrom('user').select('id').where('id', '=', userId).execute()
  return users.length
}

const isFocused = (page: Page, label: string): Promise<boolean> =>
  page
    .getByRole('dialog')
    .getByLabel(label)
    .evaluate((field) => field === document.activeElement)

/** All that the page says from now on. */
async function noteText(page: Page): Promise<() => Promise<string>> {
  const texts = await page.evaluateHandle(() => {
    const texts: string[] = []
    const note = () => texts.push(document.body.textContent)
    note()
    new MutationObserver(note).observe(document.body, {
      subtree: true,
      childList: true,
      characterData: true,
    })
    return texts
  })
  return () => texts.evaluate((texts) => texts.join('\n'))
}

/** How far the bars on the page were from now on. */
async function noteProgress(page: Page): Promise<() => Promise<number[]>> {
  const percents = await page.evaluateHandle(() => {
    const percents: number[] = []
    new MutationObserver(() => {
      const percent = document.querySelector('[role=progressbar]')?.getAttribute('aria-valuenow')
      if (percent && Number(percent) !== percents.at(-1)) percents.push(Number(percent))
    }).observe(document.body, { subtree: true, childList: true, attributes: true })
    return percents
  })
  return () => percents.jsonValue()
}
