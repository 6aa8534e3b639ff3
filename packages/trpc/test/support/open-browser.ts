import { expect } from 'vitest'
import type { KeyFileServer, SignedIn } from './key-file-server.ts'
import { callOverHttp, openSocket, type Socket, subscribeOverEvents, type Wire } from './wire.ts'

/** Everything that can rely on one JWT. */
export interface Browser {
  readonly signedIn: SignedIn
  readonly socket: Socket
  readonly overWebSocket: Wire
  readonly overEvents: Wire
}

/** The state of everything in a browser. */
export interface Standing {
  readonly httpCall: string
  readonly webSocketCall: string
  readonly webSocketStream: string | null
  readonly eventStream: string | null
}

/** Signs in, connects, and opens a clock over WebSocket and one over server-sent events. */
export async function openBrowser(server: KeyFileServer): Promise<Browser> {
  const signedIn = await server.signIn()
  const socket = await openSocket(server, signedIn)
  const [overWebSocket, overEvents] = await Promise.all([
    socket.subscribe(),
    subscribeOverEvents(server, signedIn),
  ])
  const browser = { signedIn, socket, overWebSocket, overEvents }
  expect(await standingOf(server, browser)).toEqual(OPEN)
  return browser
}

/** Checks everything again. */
export async function standingOf(server: KeyFileServer, browser: Browser): Promise<Standing> {
  const [httpCall, webSocketCall] = await Promise.all([
    callOverHttp(server, browser.signedIn),
    browser.socket.call(),
  ])
  const [webSocketStream, eventStream] = [browser.overWebSocket.reason, browser.overEvents.reason]
  return { httpCall, webSocketCall, webSocketStream, eventStream }
}

export const OPEN: Standing = {
  httpCall: 'accepted',
  webSocketCall: 'accepted',
  webSocketStream: null,
  eventStream: null,
}

export const ENDED: Standing = {
  httpCall: 'TOKEN_INVALID',
  webSocketCall: 'TOKEN_INVALID',
  webSocketStream: 'TOKEN_INVALID',
  eventStream: 'TOKEN_INVALID',
}
