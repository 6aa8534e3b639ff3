import { verifyJwt } from '@sallyport/core'
import { ORIGIN } from '../support/visitor.ts'
import { count, expectEqual, reject } from './checks.ts'
import { openOwnBrowser } from './owner.ts'
import type { History } from './state.ts'
import {
  type Copy,
  endpointHeadersOf,
  headersOf,
  isOld,
  type KnownSession,
  openCopiedSocket,
  openCopiedStream,
  reasonIn,
  THIEF_ADDRESS,
} from './thief.ts'

export async function capture(history: History): Promise<void> {
  const { app, browser, browserSession } = history
  const { jwt, session } = app.config.cookies
  const [token, secret] = [browser.jar.get(jwt), browser.jar.get(session)]
  if (app.ends.has(browserSession.id)) return
  if (token === undefined || secret === undefined) throw new Error('The owner has no cookies')
  await copy(history, browserSession, { transport: 'cookie', token, secret })
}

export async function captureProgram(history: History): Promise<void> {
  const { app, program, programSession } = history
  if (programSession.isEnded || app.ends.has(programSession.id)) return
  await program.authClient.refresh()
  if (program.authClient.getState().status !== 'authenticated') return
  const { token, sessionToken } = program.kept()
  await copy(history, programSession, { transport: 'bearer', token, secret: sessionToken })
}

async function copy(
  { app, copies }: History,
  session: KnownSession,
  credentials: Pick<Copy, 'transport' | 'token' | 'secret'>,
): Promise<void> {
  // Also of an expired one, since a node may keep the identity.
  const identity = await verifyJwt(credentials.token, { ...app.config, now: () => new Date(0) })
  const socket = await openCopiedSocket(app, credentials, { watch: true })
  await socket.call('me')
  const stream = await openCopiedStream(app, credentials)
  copies.push({ ...credentials, session, proofs: session.proofs, identity, socket, stream })
}

/** Calls with copies of the current credentials, which the server can't distinguish from the owner's. */
export async function callAsThief({ copies, random }: History): Promise<void> {
  const current = copies.filter((copy) => !isOld(copy))
  if (current.length > 0) await random.pick(current).socket.call('me')
}

/** Calls a procedure that waits between its guard and its transaction. */
export async function callGated({ app, random }: History, copy: Copy): Promise<string> {
  const path = random.pick(['transfer', 'locked'])
  const input = { id: crypto.randomUUID() }
  const answer = random.chance(0.5)
    ? await copy.socket.call(path, { method: 'mutation', input })
    : await fetch(`http://${app.host}/trpc/${path}`, {
        method: 'POST',
        headers: { ...headersOf(app, copy), 'content-type': 'application/json' },
        body: JSON.stringify(input),
      }).then(async (response) => reasonIn(await response.text()) ?? 'accepted')
  const written = await app.db.selectFrom('note').select('id').where('id', '=', input.id).executeTakeFirst()
  return written === undefined ? `${answer}, nothing written` : 'accepted'
}

export async function refreshAsThief(history: History): Promise<void> {
  const { copies, random } = history
  const current = copies.filter((copy) => !isOld(copy))
  if (current.length > 0) await tokenFor(history, random.pick(current))
}

export async function tokenFor(history: History, { session, ...credentials }: Copy): Promise<void> {
  const { app, mayEnd } = history
  if (app.isRotating) history.hasRotated = true
  if (history.hasRotated) mayEnd.add('token-replayed')
  const response = await fetch(`http://${app.host}/api/auth/backend/token`, {
    headers: endpointHeadersOf(app, credentials),
  })
  await response.text()
}

/** Tries to replace credentials. A JWT alone never can, even of a fresh session. */
export async function replaceAsThief(history: History): Promise<void> {
  const { app, copies, random, browserSession } = history
  const current = copies.filter((copy) => copy.session === browserSession && !isOld(copy))
  if (current.length === 0) return
  const { token } = random.pick(current)
  const response = await fetch(`http://${app.host}/api/auth/revoke-copies`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': THIEF_ADDRESS,
      origin: ORIGIN,
      cookie: `${app.config.cookies.jwt}=${token}`,
    },
    body: '{}',
  })
  reject(history, 'new credentials for a JWT alone', reasonIn(await response.text()) ?? 'accepted')
}

/**
 * Runs our client with a copy of older cookies. It shows signed out with the reason, without effect on the
 * owner.
 */
export async function useClientAsThief(history: History): Promise<void> {
  const { app, copies, random } = history
  const old = copies.filter((each) => isOld(each) && !each.session.isEnded && each.transport === 'cookie')
  if (old.length === 0) return
  const { token, secret, identity } = random.pick(old)
  const { userId, sessionId } = identity
  const signedIn = { userId, sessionId, token, sessionCookie: secret }
  const { page, socketPage, jar } = openOwnBrowser(app, signedIn, THIEF_ADDRESS)
  await page.authClient.refresh()
  const { status, error } = page.authClient.getState()
  expectEqual('the client of the thief', `${status} ${error?.code}`, 'unauthenticated SECRET_SUPERSEDED')
  await Promise.all([page.close(), socketPage.close()])
  expectEqual('the cookies of the thief', jar.size, 0)
  count(history, 'a copy in our client: signed out')
}
