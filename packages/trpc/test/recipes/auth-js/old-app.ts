import { Auth } from '@auth/core'
import { DrizzleAdapter } from '@auth/drizzle-adapter'
import { drizzle } from 'drizzle-orm/node-postgres'
import { Pool } from 'pg'

export const oldDatabase = new Pool({ connectionString: process.env.DATABASE_URL })

/** The links of the emails. */
export const sentLinks: string[] = []

export const answerAuth = (request: Request): Promise<Response> =>
  Auth(request, {
    adapter: DrizzleAdapter(drizzle(oldDatabase)),
    secret: 'a secret of the app for the tests',
    basePath: '/api/auth',
    trustHost: true,
    providers: [
      {
        id: 'email',
        type: 'email',
        name: 'Email',
        maxAge: 600,
        async sendVerificationRequest({ url }) {
          sentLinks.push(url)
        },
      },
    ],
  })
