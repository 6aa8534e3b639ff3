import { defineAuthConfig, sessionCookieProof } from '@sallyport/core'
import { oldDatabase } from './old-app.ts'

const baseUrl = process.env.BASE_URL ?? ''
const prefix = baseUrl.startsWith('https:') ? '__Secure-' : ''
export const authConfig = defineAuthConfig({
  baseUrl,
  ...sessionCookieProof({
    cookie: `${prefix}authjs.session-token`,
    secret: null,
    async findSession(token) {
      const { rows } = await oldDatabase.query<{ sessionId: string; userId: string }>(
        'select id as "sessionId", "userId" from session where "sessionToken" = $1',
        [token],
      )
      return rows[0] ?? null
    },
  }),
})
