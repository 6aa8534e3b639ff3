import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll } from 'vitest'
import { freePort } from './free-port.ts'

/** A real endpoint that publishes keys, correctly or not. */
export interface JwksServer {
  readonly url: string
  /** Requests so far. */
  readonly requests: number
  /** Sets its response. A string is a JSON body. */
  answer: string | RequestListener
  /** Closes the port, so connections fail. */
  reject(): Promise<void>
  /** Opens the port again. */
  listen(): Promise<void>
}

/** Starts an endpoint that is closed after the tests of the file. */
export async function startJwksServer(answer: JwksServer['answer']): Promise<JwksServer> {
  let requests = 0
  const port = await freePort()
  const server = createServer((request, response) => {
    requests++
    if (typeof jwks.answer === 'string') json(response, jwks.answer)
    else jwks.answer(request, response)
  })

  async function listen(): Promise<void> {
    if (server.listening) return
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }

  async function reject(): Promise<void> {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }

  const jwks: JwksServer = {
    get url() {
      return `http://127.0.0.1:${port}/jwks`
    },
    get requests() {
      return requests
    },
    answer,
    reject,
    listen,
  }
  await listen()
  afterAll(reject)
  return jwks
}

function json(response: ServerResponse, text: string): void {
  response.setHeader('content-type', 'application/json')
  response.end(text)
}

/**
 * Lists the ways in which a reachable endpoint fails. `set` is what it should publish, `privateSet` what it
 * must never publish.
 */
export function failures(set: string, privateSet: string): Record<string, JwksServer['answer']> {
  return {
    'answers 500': (_request, response) => void response.writeHead(500).end(set),
    'never answers': () => {},
    'sends one byte a second': async (_request, response) => {
      for (const byte of set) {
        if (response.destroyed) return
        response.write(byte)
        await sleep(1_000, undefined, { ref: false })
      }
    },
    'redirects elsewhere': (_request, response) =>
      void response.writeHead(302, { location: 'https://elsewhere.example/jwks' }).end(),
    'answers HTML': (_request, response) => void response.end('<!doctype html><title>Maintenance</title>'),
    'answers 10 MB': (_request, response) => void response.end(set + ' '.repeat(10 * 1024 * 1024)),
    'answers nothing': (_request, response) => void response.end(),
    'publishes private members': privateSet,
    'breaks off in the middle': (_request, response) => {
      response.writeHead(200, { 'content-length': set.length })
      response.write(set.slice(0, set.length / 2), () => response.destroy())
    },
  }
}
