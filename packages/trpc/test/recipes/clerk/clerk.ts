import type { SessionReader } from '@sallyport/core'
import type { StoreMapping } from '@sallyport/core/postgres'
import { Pool } from 'pg'
import { Webhook } from 'svix'
import { issuer } from './auth.config.ts'

export const pool = new Pool({ connectionString: process.env.DATABASE_URL })
pool.on('error', console.error)
const webhook = new Webhook(process.env.CLERK_WEBHOOK_SECRET ?? '')

type Resource = { user_id?: string; status?: string; actor?: object | null }

/** Sessions only end, so events may arrive late, twice, or in another order. */
const SESSION = `insert into clerk_session select * from jsonb_populate_record(null::clerk_session, $1)
  on conflict (id) do update set expire_at = least(clerk_session.expire_at, excluded.expire_at)`
const USER = `insert into clerk_user select * from jsonb_populate_record(null::clerk_user, $1)
  on conflict (id) do update set (banned, updated_at) = (excluded.banned, excluded.updated_at)
  where clerk_user.updated_at <= excluded.updated_at`
const DELETED = { banned: true, updated_at: Number.MAX_SAFE_INTEGER }
const ENDED = { expire_at: Date.UTC(2001, 0) }

export async function mirror(type: string, resource: Resource): Promise<void> {
  const { user_id: id, status, actor } = resource
  if (type.startsWith('user.'))
    await pool.query(USER, [{ ...resource, ...(type === 'user.deleted' && DELETED) }])
  const isNew = type === 'session.created'
  if (!type.startsWith('session.') || (isNew && status === 'pending')) return
  const end = isNew && status === 'active' ? {} : ENDED
  const session = { ...resource, ...end, ...(actor && { created_at: null }) }
  await pool.query(USER, [{ id, banned: false, updated_at: 0 }])
  await pool.query(SESSION, [session])
}

/** `POST /webhooks/clerk`. After a 500, Clerk repeats the event. */
export async function answerWebhook(request: Request): Promise<Response> {
  const body = await request.text()
  try {
    webhook.verify(body, Object.fromEntries(request.headers))
  } catch {
    return new Response(null, { status: 400 })
  }
  const { type, data }: { type: string; data: Resource } = JSON.parse(body)
  await mirror(type, data)
  return new Response(null, { status: 204 })
}

const session = { userId: 'user_id', expiresAt: 'expire_at', lastAuthenticatedAt: 'created_at' }
const user = { name: null, email: null, role: null, banExpires: null }
export const mapping: StoreMapping = {
  issuer,
  dates: 'milliseconds',
  session: { table: 'clerk_session', columns: session },
  user: { table: 'clerk_user', columns: user },
}

/** Reads a session from Clerk if its webhook hasn't arrived. An error is a 503. */
export const withImport = (sessions: SessionReader): SessionReader => ({
  async findSession(key) {
    const found = await sessions.findSession(key)
    if (found !== null) return found
    const response = await fetch(`${process.env.CLERK_API_URL}/v1/sessions/${key.sessionId}`, {
      headers: { authorization: `Bearer ${process.env.CLERK_SECRET_KEY}` },
    })
    if (response.status === 404) return null
    if (!response.ok) throw new Error(`Clerk responded with ${response.status}`)
    await mirror('session.created', JSON.parse(await response.text()))
    return sessions.findSession(key)
  },
})
