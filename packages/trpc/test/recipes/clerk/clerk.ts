import type { SessionKey } from '@sallyport/core'
import { Pool } from 'pg'
import { Webhook } from 'svix'

export const pool = new Pool({ connectionString: process.env.DATABASE_URL })
const webhook = new Webhook(process.env.CLERK_WEBHOOK_SECRET ?? '')

/** Sessions only end, so events may arrive late, twice, or in another order. */
const SESSION = `with added as (
    insert into clerk_user select $1::jsonb->>'user_id', false, 0 on conflict do nothing)
  insert into clerk_session select e->>'id', e->>'user_id',
    case when $2 = 'session.created' and e->>'status' = 'active'
      then to_timestamp((e->>'expire_at')::float8/1000) else '2001-01-01' end,
    case when e->>'actor' is null then to_timestamp((e->>'created_at')::float8/1000) end
  from (select $1::jsonb e) sent where e->>'status' <> 'pending'
  on conflict (id) do update set expires_at = least(clerk_session.expires_at, excluded.expires_at)`

/** A deletion has neither value, so it is a ban that stays. */
const USER = `insert into clerk_user select e->>'id',
    coalesce((e->>'banned')::boolean, true), coalesce((e->>'updated_at')::float8, 'infinity')
  from (select $1::jsonb e) sent
  on conflict (id) do update set (banned, updated_at) = (excluded.banned, excluded.updated_at)
  where clerk_user.updated_at <= excluded.updated_at`

export async function mirror(type: string, resource: unknown): Promise<void> {
  const json = JSON.stringify(resource)
  if (type.startsWith('session.')) await pool.query(SESSION, [json, type])
  if (type.startsWith('user.')) await pool.query(USER, [json])
}

/** `POST /webhooks/clerk`. After a 500, Clerk repeats the event. */
export async function answerWebhook(request: Request): Promise<Response> {
  const body = await request.text()
  try {
    webhook.verify(body, Object.fromEntries(request.headers))
  } catch {
    return new Response(null, { status: 400 })
  }
  const event: { type: string; data: unknown } = JSON.parse(body)
  await mirror(event.type, event.data)
  return new Response(null, { status: 204 })
}

/** For a token that arrives before its webhook. An error is a 503. */
export async function importSession({ sessionId }: SessionKey): Promise<void> {
  const response = await fetch(`${process.env.CLERK_API_URL}/v1/sessions/${sessionId}`, {
    headers: { authorization: `Bearer ${process.env.CLERK_SECRET_KEY}` },
  })
  if (response.ok) await mirror('session.created', await response.json())
  else if (response.status !== 404) throw new Error(`Clerk responded with ${response.status}`)
}
