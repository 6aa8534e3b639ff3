import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { respond } from './web.ts'

export const server = createServer(
  getRequestListener((request, { incoming }) => respond(request, incoming.socket)),
)
