import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { answer } from './web.ts'

export const server = createServer(
  getRequestListener((request, { incoming }) => answer(request, incoming.socket.remoteAddress)),
)
