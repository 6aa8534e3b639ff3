import type { Random } from '../../../core/test/hostile/random.ts'
import { ORIGIN } from '../support/visitor.ts'
import { expectEqual, noteEnds, reject, unlessEnded } from './checks.ts'
import { fetchFrom, type OwnBrowser, take } from './owner.ts'
import type { History } from './state.ts'
import { isOld, type KnownSession, reasonIn } from './thief.ts'
import { callGated, tokenFor } from './thief-steps.ts'

export const tabOf = ({ page, socketPage }: OwnBrowser, random: Random) => random.pick([page, socketPage])

export async function callAsOwner({ browser, random, browserSession }: History): Promise<void> {
  const { trpc } = tabOf(browser, random)
  expectEqual('the owner calls', await trpc.me.query(), browserSession.id)
  const id = crypto.randomUUID()
  const written = random.chance(0.5) ? trpc.transfer.mutate({ id }) : trpc.write.mutate({ id })
  expectEqual('the owner writes', await written, browserSession.id)
}

export async function callAsProgram(history: History): Promise<void> {
  const { program, programSession } = history
  if (programSession.isEnded) return
  await unlessEnded(history, programSession, async () => {
    expectEqual('the program calls', await program.trpc.me.query(), programSession.id)
  })
}

export async function callInternally({ app, browser, browserSession, address }: History): Promise<void> {
  await browser.page.authClient.refresh()
  const headers = { origin: ORIGIN, cookie: browser.cookie(), 'x-forwarded-for': address }
  if (app.ends.has(browserSession.id)) return
  expectEqual('the owner calls an action', await app.callAction(headers, 'me'), browserSession.id)
}

/** Loads a page. The browser applies the cookies that come with it. */
export async function renderAsOwner(history: History): Promise<void> {
  const { app, browser, browserSession } = history
  const request = new Request(`${ORIGIN}/`, { headers: { cookie: browser.cookie() } })
  const page = await app.render(request, { remoteAddress: history.address })
  const answer = await page.call(app.callAsPage).catch((error: unknown) => reasonIn(JSON.stringify(error)))
  for (const setCookie of page.setCookies) take(browser.jar, setCookie)
  if (app.isRotating) history.hasRotated = true
  if (app.ends.has(browserSession.id)) return
  expectEqual('a page is rendered for the owner', answer, browserSession.id)
  expectEqual('the state of the page', page.state.status, 'authenticated')
}

/** Reauthenticates the owner in one tab, while both tabs and the thief keep calling. */
export async function prove(history: History): Promise<void> {
  const { app, browser, random, copies, browserSession } = history
  const { authClient, trpc } = tabOf(browser, random)
  const other = authClient === browser.page.authClient ? browser.socketPage : browser.page
  const current = copies.filter((copy) => copy.session === browserSession && !isOld(copy)).slice(-2)
  const kind = random.below(10)
  // Guarded before the change, committed after it.
  const openGate = app.closeGate()
  const late = current.map((copy) => callGated(history, copy))
  for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate)
  if (app.isRotating) history.hasRotated = true

  const change = async () => {
    if (kind < 6) {
      try {
        return await authClient.api.revokeCopies()
      } catch (error) {
        if (!isCode(error, 'SESSION_NOT_FRESH')) throw error
      }
    }
    if (kind < 8) return authClient.api.reauthenticate({ password: history.password })
    const newPassword = `A new password ${crypto.randomUUID()}`
    const revokeOtherSessions = random.chance(0.3)
    if (revokeOtherSessions) history.mayEnd.add('password-changed')
    await authClient.api.changePassword({
      currentPassword: history.password,
      newPassword,
      revokeOtherSessions,
    })
    history.password = newPassword
  }
  const meanwhile = [
    trpc.me.query(),
    other.trpc.me.query(),
    other.authClient.refresh(),
    ...(random.chance(0.3) && !app.isRotating ? current.map((copy) => tokenFor(history, copy)) : []),
  ]
  const done = await Promise.allSettled([change(), ...meanwhile])
  openGate()
  for (const { reason } of done.filter((outcome) => outcome.status === 'rejected')) {
    if (!app.ends.has(browserSession.id)) throw reason
  }
  acknowledge(history, browserSession)
  // Before the server has closed it.
  for (const { socket } of current) {
    reject(history, 'open WebSocket at once, query', await socket.call('me'))
    reject(
      history,
      'open WebSocket at once, fresh mutation',
      await socket.call('fresh', { method: 'mutation' }),
    )
  }
  for (const answer of await Promise.all(late))
    reject(history, 'a transaction begun after the change', answer)
}

export async function proveAsProgram(history: History): Promise<void> {
  const { program, programSession, password } = history
  if (programSession.isEnded) return
  await unlessEnded(history, programSession, async () => {
    await program.authClient.api.reauthenticate({ password })
    acknowledge(history, programSession)
  })
}

/** Marks all earlier copies as worthless. */
function acknowledge({ app, copies, deadlines }: History, session: KnownSession): void {
  const wereCurrent = copies.filter((copy) => copy.session === session && !isOld(copy))
  session.proofs++
  for (const copy of wereCurrent) deadlines.set(copy, app.ticks.latest)
}

export async function changeEmailHere(history: History): Promise<void> {
  const { browser, random, browserSession } = history
  const token = await requestEmailChange(history)
  const done = await tabOf(browser, random).authClient.api.verifyEmail({ token })
  expectEqual('the session of the email change', 'sessionId' in done && done.sessionId, browserSession.id)
  acknowledge(history, browserSession)
}

export async function changeEmailElsewhere(history: History): Promise<void> {
  const { app, browserSession, programSession, address, password } = history
  const token = await requestEmailChange(history)
  history.mayEnd.add('email-changed')
  const response = await fetchFrom(app, address)(`${ORIGIN}/api/auth/verify-email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token, password }),
  })
  expectEqual('the status of the email change', response.status, 200)
  await noteEnds(history)
  expectEqual(
    'all sessions end',
    [browserSession, programSession].map(({ isEnded }) => isEnded).join(),
    'true,true',
  )
}

async function requestEmailChange(history: History): Promise<string> {
  const { browser, random, app, password } = history
  const { authClient } = tabOf(browser, random)
  const newEmail = `${crypto.randomUUID()}@example.com`
  app.outbox.emails.length = 0
  try {
    await authClient.api.changeEmail({ newEmail })
  } catch (error) {
    if (!isCode(error, 'SESSION_NOT_FRESH')) throw error
    await authClient.api.reauthenticate({ password })
    acknowledge(history, history.browserSession)
    await authClient.api.changeEmail({ newEmail })
  }
  for (let turns = 0; turns < 500; turns++) {
    const link = app.outbox.emails.find((email) => email.kind === 'change-email')
    if (link?.kind === 'change-email') return link.token
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  throw new Error('No email came')
}

export async function revokeProgram(history: History): Promise<void> {
  const { browser, programSession, mayEnd } = history
  if (programSession.isEnded) return
  mayEnd.add('revoked')
  await browser.page.authClient.api.revokeSession({ sessionId: programSession.id })
  await noteEnds(history)
}

export async function revokeBrowser(history: History): Promise<void> {
  const { program, browserSession, programSession, mayEnd } = history
  if (programSession.isEnded) return
  mayEnd.add('revoked')
  await unlessEnded(history, programSession, () =>
    program.authClient.api.revokeSession({ sessionId: browserSession.id }),
  )
  await noteEnds(history)
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
