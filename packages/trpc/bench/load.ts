/** Clients that take little processor time, so the server is the one that is saturated. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { WebSocket } from 'ws'

/** A connection with one call in flight. Sends the requests in turn, and returns the number of responses. */
export type Client = (requests: readonly Buffer[], endsAt: number) => Promise<number>

export interface HttpRequest {
  readonly method?: 'GET' | 'POST'
  readonly path: string
  readonly cookie?: string
  readonly body?: object
}

export function httpRequest({ method = 'GET', path, cookie, body }: HttpRequest): Buffer {
  const json = body === undefined ? '' : JSON.stringify(body)
  const head = [
    `${method} ${path} HTTP/1.1`,
    'host: localhost:3000',
    `${CLIENT_HEADER}: 1`,
    ...(cookie === undefined ? [] : [`cookie: ${cookie}`]),
    ...(json === '' ? [] : ['content-type: application/json', `content-length: ${json.length}`]),
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${json}`)
}

export async function httpClient(port: number): Promise<Client> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const closed = rejectWhenClosed(socket)
  return (requests, endsAt) => Promise.race([callInTurn(requests, endsAt, exchangeOver(socket)), closed])
}

export async function webSocketClient(port: number, cookie: string): Promise<Client> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, {
    headers: { cookie, origin: 'http://localhost:3000' },
  })
  await once(socket, 'open')
  const closed = rejectWhenClosed(socket)
  let onResponse = (_response: string) => {}
  socket.on('message', (message: Buffer) => {
    // tRPC's keep-alive. Without a PONG, it ends sockets that wait for their turn.
    if (message.toString() === 'PING') socket.send('PONG')
    else onResponse(message.toString())
  })
  const exchange: Exchange = (request, respond) => {
    onResponse = respond
    socket.send(request, { binary: false })
  }
  return (requests, endsAt) => Promise.race([callInTurn(requests, endsAt, exchange), closed])
}

/** Rejects if the connection closes. Otherwise, a client would wait forever for its next response. */
function rejectWhenClosed(socket: Socket | WebSocket): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => {})
  socket.once('close', (...details) =>
    reject(new Error(`The server closed a connection: ${details.join(' ')}`)),
  )
  return promise
}

type Exchange = (request: Buffer, respond: (response: string) => void) => void

function callInTurn(requests: readonly Buffer[], endsAt: number, exchange: Exchange): Promise<number> {
  return new Promise((resolve, reject) => {
    let count = 0
    function call(): void {
      const request = requests[count % requests.length]
      if (request === undefined || performance.now() >= endsAt) resolve(count)
      else exchange(request, onResponse)
    }
    function onResponse(response: string): void {
      if (response.includes('"error"')) reject(new Error(response))
      else {
        count++
        call()
      }
    }
    call()
  })
}

function exchangeOver(socket: Socket): Exchange {
  return (request, respond) => {
    let response = ''
    socket.on('data', function onData(chunk) {
      response += chunk.toString('latin1')
      if (!isComplete(response)) return
      socket.off('data', onData)
      respond(response.startsWith('HTTP/1.1 200') ? response : `"error": ${response}`)
    })
    socket.write(request)
  }
}

function isComplete(response: string): boolean {
  const end = response.indexOf('\r\n\r\n')
  if (end === -1) return false
  const length = /content-length: (\d+)/i.exec(response)?.[1]
  return length === undefined
    ? response.endsWith('\r\n0\r\n\r\n')
    : response.length >= end + 4 + Number(length)
}
