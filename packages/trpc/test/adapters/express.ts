import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import { answer } from './web.ts'

const app = express()
const handle = getRequestListener((request, { incoming }) => answer(request, incoming.socket.remoteAddress))
// With `all`, since `use` would cut the path. Before `express.json()`, since a body can be read only once.
app.all(['/api/auth/*path', '/trpc/*path', '/healthz'], handle)

// What follows is for routes of your own.
app.use(express.json())
app.post('/webhook', (req, res) => {
  res.json({ received: req.body })
})

export const server = createServer(app)
