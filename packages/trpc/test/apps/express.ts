import { createServer } from 'node:http'
import { createExpressMiddleware } from '@trpc/server/adapters/express'
import express from 'express'
import { createContext } from './context.ts'
import { appRouter } from './router.ts'

const app = express()
app.use('/trpc', createExpressMiddleware({ router: appRouter, createContext, maxBodySize: 100_000 }))
app.get('/', (_req, res) => res.send('Hello'))

const server = createServer(app)
server.listen(Number(process.env.PORT))
