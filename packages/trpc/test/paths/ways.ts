import { Agent, get } from 'node:http'
import { text } from 'node:stream/consumers'
import { AuthError, isAuthError } from '@sallyport/core'
import { createAuthContext, getSession } from '@sallyport/trpc'
import { bindRunner } from '@sallyport/trpc/action'
import { WebSocket } from 'ws'
import * as z from 'zod'
import { outcomeOf } from '../support/outcome.ts'
import { ORIGIN } from '../support/visitor.ts'
import type { Answer, Result } from './model.ts'
import { answerOf, createActions, createCaller, type PathsApp } from './open-app.ts'
import type { State } from './state.ts'

type Need = State['need']
type Headers = Readonly<Record<string, string>>

/** A way to query the caller's identity. All ways must agree. */
export interface Way {
  readonly name: string
  ask(headers: Headers, need: Need): Promise<Result>
}

const answer = z.object({ userId: z.string(), sessionId: z.string(), role: z.string() })
const rejection = z.object({
  message: z.string(),
  data: z.object({ httpStatus: z.number(), auth: z.object({ reason: z.string() }).nullable() }),
})
const body = z.union([z.object({ error: rejection }), z.object({ result: z.object({ data: answer }) })])

const accepted = (value: Answer): Result => ({ status: 200, reason: null, message: null, answer: value })

function rejected(error: unknown): Result {
  const { message, data } = rejection.parse(error)
  return { status: data.httpStatus, reason: data.auth?.reason ?? null, message, answer: null }
}

function verdictOf(json: unknown): Result {
  const parsed = body.parse(json)
  return 'error' in parsed ? rejected(parsed.error) : accepted(parsed.result.data)
}

/** Creates every way to call an app. */
export function createWays(app: PathsApp): Way[] {
  const agent = new Agent({ keepAlive: true })
  const contexts = createAuthContext(app.config)
  const createActionCaller = createActions(app)
  const route = (headers: Headers) => contexts.headers(headers)
  const inDatabase = (headers: Headers) => ({ ...route(headers), db: app.db })

  return [
    { name: 'HTTP', ask: (headers, need) => askOverHttp(app, agent, { headers, need }) },
    { name: 'server-sent events', ask: (headers, need) => askOverEvents(app, headers, need) },
    {
      name: 'WebSocket',
      async ask(headers, need) {
        const socket = await openSocket(app, headers)
        const result = await socket.ask(need)
        socket.close()
        return result
      },
    },
    { name: 'createCaller', ask: (headers, need) => caught(() => createCaller(inDatabase(headers))[need]()) },
    {
      name: 'getSession',
      ask: (headers, need) =>
        caught(async () => {
          const session = await getSession(inDatabase(headers))
          // As an app's own code does it.
          if (need === 'admin' && session.user.role !== 'admin') throw new AuthError('ROLE_REQUIRED')
          return answerOf(session)
        }),
    },
    {
      name: 'getAuth on the database',
      ask: (headers, need) => caught(() => askEndpoint(app.getAuth(inDatabase(headers)).api, need)),
    },
    {
      name: 'getAuth over HTTP',
      ask: (headers, need) =>
        caught(() => askEndpoint(app.getAuth({ ...route(headers), ...bindRunner(app.runner) }).api, need)),
    },
    {
      name: 'action beside the database',
      ask: (headers, need) =>
        caught(() => createActionCaller({ ...inDatabase(headers), runner: app.local })[need]()),
    },
    {
      name: 'action without a database',
      ask: (headers, need) =>
        caught(() => createActionCaller({ ...route(headers), runner: app.runner })[need]()),
    },
    {
      name: 'ctx.auth.api of an action without a database',
      ask: (headers, need) =>
        caught(() => {
          const actions = createActionCaller({ ...route(headers), runner: app.runner })
          return need === 'admin' ? actions.endpointAsAdmin() : actions.endpointAsUser()
        }),
    },
    {
      name: 'auth endpoint',
      async ask(headers, need) {
        const response = await app.handler(new Request(`${ORIGIN}/api/auth/probe/${need}`, { headers }))
        const json = await response.json()
        if (response.ok) return accepted(answer.parse(json))
        return { status: response.status, reason: json.code, message: json.message, answer: null }
      },
    },
  ]
}

type ProbeApi = ReturnType<PathsApp['getAuth']>['api']

/** Calls an endpoint. If the role allows it, this is the endpoint of the caller's session. */
async function askEndpoint(api: ProbeApi, need: Need): Promise<Answer> {
  if (need === 'admin') return api.readAsAdmin()
  const { session, user } = await api.getSession()
  return { userId: user.id, sessionId: session.id, role: user.role }
}

async function caught(ask: () => Promise<Answer>): Promise<Result> {
  try {
    const outcome = await outcomeOf(ask())
    if (outcome.rejection === null) return accepted(answer.parse(outcome.data))
    const { httpStatus, auth, message } = outcome.rejection
    return { status: httpStatus, reason: auth?.reason ?? null, message, answer: null }
  } catch (error) {
    if (!isAuthError(error)) throw error
    const { status, reason, message } = error
    return { status, reason, message, answer: null }
  }
}

/** Sends a query, whose HTTP status must match its response. */
function askOverHttp(
  { host }: PathsApp,
  agent: Agent,
  { headers, need }: { headers: Headers; need: Need },
): Promise<Result> {
  return new Promise((resolve, reject) => {
    get(`http://${host}/${need}`, { agent, headers }, (response) => {
      text(response).then((json) => {
        const result = verdictOf(JSON.parse(json))
        resolve({ ...result, status: response.statusCode === result.status ? result.status : 0 })
      }, reject)
    }).on('error', reject)
  })
}

/** Reads the first event with content, and then leaves. */
function askOverEvents({ host }: PathsApp, headers: Headers, need: Need): Promise<Result> {
  const path = need === 'admin' ? 'watchAsAdmin' : 'watchAsUser'
  return new Promise((resolve, reject) => {
    const accept = 'text/event-stream'
    const request = get(
      `http://${host}/${path}`,
      { agent: false, headers: { ...headers, accept } },
      (response) => {
        let unread = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          const events = (unread + chunk).split('\n\n')
          unread = events.pop() ?? ''
          for (const event of events) {
            const type = /^event: (.*)$/m.exec(event)?.[1]
            const data = /^data: (.*)$/m.exec(event)?.[1]
            if (data === undefined || type === 'connected' || type === 'ping') continue
            const json = JSON.parse(data)
            resolve(type === 'serialized-error' ? rejected(json) : accepted(answer.parse(json)))
            request.destroy()
          }
        })
        response.on('end', () => reject(new Error('The stream just ended')))
      },
    )
    request.on('error', reject)
  })
}

/** A WebSocket connection. */
export interface Socket {
  ask(need: Need): Promise<Result>
  close(): void
}

export async function openSocket({ host }: PathsApp, headers: Headers): Promise<Socket> {
  const socket = new WebSocket(`ws://${host}/`, { headers })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  let id = 0
  return {
    ask(need) {
      id++
      return new Promise((resolve, reject) => {
        const receive = (data: unknown) => {
          const message = JSON.parse(String(data))
          if (message.id !== id) return
          socket.off('message', receive).off('close', fail)
          resolve(verdictOf(message))
        }
        const fail = (code: number) => reject(new Error(`The socket was closed with ${code}`))
        socket.on('message', receive).on('close', fail)
        socket.send(JSON.stringify({ id, method: 'query', params: { path: need } }))
      })
    },
    close: () => socket.terminate(),
  }
}
