import { once } from 'node:events'
import { mkdirSync, rmSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { createInternalHandler } from '@sallyport/trpc/action'
import { env } from '../env.ts'
import { loadServiceJwks } from '../keys/service-keys.ts'
import { internalFunctions } from './functions.ts'

const path = env.INTERNAL_SOCKET

/**
 * Serves the internal functions to other processes of this machine. Returns null without service keys, or if
 * another node listens.
 */
export async function listenInternally(): Promise<Server | null> {
  const serviceJwks = await loadServiceJwks()
  if (serviceJwks === null || (await isServed())) return null
  removeStaleSocket()
  const handler = createInternalHandler(internalFunctions, { serviceJwks })
  const server = createServer(getRequestListener(handler))
  // Only the owner of the process may open the socket.
  const mask = process.umask(0o177)
  server.listen(path)
  process.umask(mask)
  await once(server, 'listening')
  return server
}

function removeStaleSocket(): void {
  if (process.platform === 'win32') return
  mkdirSync(dirname(path), { recursive: true })
  // A process that was killed leaves its socket.
  if (statSync(path, { throwIfNoEntry: false })?.isSocket()) rmSync(path)
}

function isServed(): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy()
      resolve(true)
    }).once('error', () => resolve(false))
  })
}
