import { once } from 'node:events'
import { WebSocket } from 'ws'
import type { RunningPeer, SeededPeer } from './start-peer.ts'

const ORIGIN = 'http://localhost:3000'
/** A page on another subdomain: browsers send `SameSite=Lax` cookies from there. */
const OTHER_ORIGIN = 'http://other.localhost:3000'

/** What a peer doesn't check, and its status when the database can't be read. */
export interface Probed {
  readonly unchecked: readonly string[]
  readonly failure: number
}

/** Tries what a peer may not check. Leaves the database without its sessions. */
export async function probeChecks(server: RunningPeer, seeded: SeededPeer): Promise<Probed> {
  const { cookies, grace, mary, hasBans, tell } = seeded
  const [cookie = ''] = cookies
  const url = `http://127.0.0.1:${server.port}/trpc`
  const statusOf = async (path: string, headers: Record<string, string>, body?: FormData) => {
    const init = body === undefined ? { headers } : { headers, method: 'POST', body }
    return (await fetch(`${url}/${path}`, init)).status
  }
  const call = (cookie: string) => statusOf('guarded', { cookie, 'x-sallyport': '1' })

  const socket = await openSocket(server.port, cookie, ORIGIN)
  if ((await call(cookie)) !== 200 || (await call(grace.cookie)) !== 200 || !(await callOver(socket)))
    throw new Error('A valid session was rejected')
  if ((await call('')) !== 401) throw new Error('A call without a session was accepted')

  const fromElsewhere = { cookie, origin: OTHER_ORIGIN, 'sec-fetch-site': 'same-site' }
  const isWritten = (await statusOf('write', fromElsewhere, new FormData())) === 200
  const isUpgraded = (await openSocket(server.port, cookie, OTHER_ORIGIN)) !== null

  await tell({ revoke: cookie })
  const isRevokedAccepted = (await call(cookie)) === 200
  const isRevokedSocketAccepted = await callOver(socket)
  await tell({ ban: grace.userId })
  const isBannedAccepted = (await call(grace.cookie)) === 200
  await tell({ breakTable: true })
  const failure = await call(mary.cookie)

  const unchecked = [
    ...(isRevokedAccepted ? ['a revoked session, until its cache expires'] : []),
    ...(isRevokedSocketAccepted ? ['a revoked session on an open WebSocket'] : []),
    ...(isBannedAccepted
      ? [hasBans ? 'a banned user, until its cache expires' : 'bans, which it lacks']
      : []),
    ...(isWritten ? ['the origin of a mutation'] : []),
    ...(isUpgraded ? ['the origin of a WebSocket'] : []),
  ]
  return { unchecked, failure }
}

async function openSocket(port: number, cookie: string, origin: string): Promise<WebSocket | null> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { headers: { cookie, origin } })
  return Promise.race([
    once(socket, 'open').then(() => socket),
    once(socket, 'unexpected-response').then(() => null),
  ]).catch(() => null)
}

/** Returns whether a call is accepted. */
async function callOver(socket: WebSocket | null): Promise<boolean> {
  if (socket?.readyState !== WebSocket.OPEN) return false
  const response = Promise.race([once(socket, 'message'), once(socket, 'close').then(() => ['"error"'])])
  socket.send(JSON.stringify({ id: 1, method: 'query', params: { path: 'guarded' } }))
  return !String((await response)[0]).includes('"error"')
}
