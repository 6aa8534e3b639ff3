import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import { respond } from './web.ts'

const app = express()
const handle = getRequestListener((request, { incoming }) => respond(request, incoming.socket))
// `app.use` would cut the path. Before `express.json()`, because a body can be read only once.
app.all(['/api/auth/*path', '/trpc/*path', '/healthz'], handle)

// Your own routes:
app.use(express.json())
app.post('/webhook', (req, res) => {
  res.json({ received: req.body })
})

export const server = createServer(app)
