import { isAuthError } from '@sallyport/core'
import { sql } from 'kysely'
import { outcomeOf } from '../support/outcome.ts'
import { ORIGIN } from '../support/visitor.ts'
import type { CopiesApp } from './open-app.ts'
import {
  type Copy,
  endpointHeadersOf,
  headersOf,
  openCopiedSocket,
  openCopiedStream,
  reasonIn,
} from './thief.ts'

/** Presents a copy. Resolves to `accepted`, or how it was rejected. */
type Path = (app: CopiesApp, copy: Copy) => Promise<string>

const note = () => ({ id: crypto.randomUUID() })

async function answerOf(response: Response): Promise<string> {
  const reason = reasonIn(await response.text())
  return response.ok && reason === null ? 'accepted' : (reason ?? `status ${response.status}`)
}

const query =
  (path: string): Path =>
  async (app, copy) =>
    answerOf(await fetch(`http://${app.host}/trpc/${path}`, { headers: headersOf(app, copy) }))

const mutation =
  (path: string): Path =>
  async (app, copy) =>
    answerOf(
      await fetch(`http://${app.host}/trpc/${path}`, {
        method: 'POST',
        headers: { ...headersOf(app, copy), 'content-type': 'application/json' },
        body: JSON.stringify(note()),
      }),
    )

/** Calls an auth endpoint. */
async function ask(
  app: CopiesApp,
  headers: Readonly<Record<string, string>>,
  [path, body]: readonly [path: string, body?: object],
): Promise<Response> {
  return fetch(`http://${app.host}/api/auth${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  })
}

const endpoint =
  (...request: readonly [path: string, body?: object]): Path =>
  async (app, copy) =>
    answerOf(await ask(app, endpointHeadersOf(app, copy), request))

async function caught(call: () => Promise<unknown>): Promise<string> {
  try {
    const { rejection } = await outcomeOf(call())
    return rejection === null ? 'accepted' : (rejection.auth?.reason ?? rejection.code)
  } catch (error) {
    if (isAuthError(error)) return error.reason
    throw error
  }
}

/** Requests a token. A rejection must not change the cookies while the session is valid. */
async function askForToken(app: CopiesApp, copy: Copy): Promise<string> {
  const response = await ask(app, endpointHeadersOf(app, copy), ['/backend/token'])
  const answer = await answerOf(response)
  if (answer === 'accepted' || response.headers.getSetCookie().length === 0) return answer
  return copy.session.isEnded ? answer : `${answer} with Set-Cookie`
}

async function renderPage(app: CopiesApp, copy: Copy): Promise<string> {
  if (copy.transport === 'bearer') return 'TOKEN_MISSING'
  const page = await app.render(new Request(`${ORIGIN}/`, { headers: headersOf(app, copy) }))
  const answer = await caught(() => page.call(app.callAsPage))
  const isIn =
    page.state.status === 'authenticated' || page.setCookies.some((pair) => !pair.includes('Max-Age=0'))
  return isIn ? 'accepted' : answer
}

async function lockInOwnTransaction({ db, lockSession, config }: CopiesApp, copy: Copy): Promise<string> {
  return caught(() =>
    db
      .transaction()
      .execute((trx) => lockSession((...part) => sql(...part).execute(trx), copy.identity, config)),
  )
}

/** Every path that accepts credentials. */
export const PATHS: Readonly<Record<string, Path>> = {
  'HTTP query': query('me'),
  'HTTP mutation': mutation('write'),
  'HTTP batch': query('me,me?batch=1&input=%7B%7D'),
  'sensitive mutation': mutation('transfer'),
  'fresh mutation': mutation('fresh'),
  'lockSession in a procedure': mutation('locked'),
  'lockSession in a transaction of the app': lockInOwnTransaction,
  'new WebSocket': async (app, copy) => {
    const socket = await openCopiedSocket(app, copy, { watch: false })
    const answer = await socket.call('me')
    socket.close()
    return answer
  },
  'open WebSocket, query': (_app, { socket }) => socket.call('me'),
  'open WebSocket, fresh mutation': (_app, { socket }) =>
    socket.call('fresh', { method: 'mutation', input: note() }),
  'new stream of server-sent events': async (app, copy) => {
    const stream = await openCopiedStream(app, copy)
    stream.close()
    return stream.begun
  },
  'server render': renderPage,
  'internal call': (app, copy) => caught(() => app.callAction(headersOf(app, copy), 'me')),
  'endpoint by internal call': (app, copy) => caught(() => app.callAction(headersOf(app, copy), 'endpoint')),
  'auth endpoint, query': endpoint('/session'),
  'auth endpoint, mutation': endpoint('/update-user', { name: 'Thief' }),
  'auth endpoint, email change': endpoint('/change-email', { newEmail: 'thief@example.com' }),
  'auth endpoint, new credentials': endpoint('/revoke-copies', {}),
  'auth endpoint, JWT alone': async (app, copy) =>
    answerOf(await ask(app, jwtAlone(app, copy), ['/session'])),
  'token endpoint': askForToken,
  /** Clears the cookies without ending a session, which the history checks. */
  'sign-out': async (app, copy) => {
    await ask(app, endpointHeadersOf(app, { ...copy, token: 'none' }), ['/sign-out', {}])
    return 'ended nothing'
  },
  'sign-out, JWT alone': async (app, copy) => {
    await ask(app, jwtAlone(app, copy), ['/sign-out', {}])
    return 'ended nothing'
  },
}

function jwtAlone(app: CopiesApp, copy: Copy): Readonly<Record<string, string>> {
  const headers = headersOf(app, copy)
  return copy.transport === 'bearer'
    ? headers
    : { ...headers, cookie: `${app.config.cookies.jwt}=${copy.token}` }
}
