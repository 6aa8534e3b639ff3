import { sql } from 'kysely'
import type { HostileKey } from '../../../core/test/hostile/hostile-key.ts'
import { createHostileKey } from '../../../core/test/hostile/hostile-key.ts'
import type { Random } from '../../../core/test/hostile/random.ts'
import { insertSession, insertUser, type Named } from '../../../core/test/support/insert-rows.ts'
import { SESSION_METHODS } from '../../../core/test/support/sign-in-methods.ts'
import { FOREIGN, ORIGIN } from '../support/visitor.ts'
import type { Names } from './model.ts'
import type { PathsApp } from './open-app.ts'
import type { JwtFacts, State } from './state.ts'
import { type Keys, mint } from './tokens.ts'

/** A visitor and the visitor's rows. */
export interface Scene {
  readonly names: Names
  /** The visitor's request headers. */
  readonly headers: Readonly<Record<string, string>>
  /** Changes the database and the keys from the valid state to the given one. */
  change(): Promise<void>
}

/** Inserts a user with a valid session. */
export async function insertVisitor(app: PathsApp, random: Random): Promise<Named> {
  const visitor = { userId: idOf(random), sessionId: idOf(random) }
  await insertUser(app.tables, visitor.userId, { role: 'admin' })
  await insertSession(app.tables, visitor, new Date(Date.UTC(2099, 0)))
  return visitor
}

/**
 * Signs the visitor in, in a valid state.
 *
 * @param options.signsIn by every method in turn. Otherwise, by each method once
 */
export async function setScene(
  app: PathsApp,
  state: State,
  { keys, stranger, random, signsIn }: { keys: Keys; stranger: Named; random: Random; signsIn: boolean },
): Promise<Scene> {
  const isEachUsed = Object.keys(app.signIns.counts).length === SESSION_METHODS.length
  const { userId, sessionId } =
    signsIn || !isEachUsed ? await app.signIns.next() : await insertVisitor(app, random)
  const names = { userId, sessionId, otherSessionId: await app.createSession(userId) }
  await app.tables.updateTable('user').set({ role: state.role }).where('id', '=', userId).execute()

  const { jwt } = state
  const passing = jwt?.flaw === 'key leaks' || jwt?.flaw === 'key retires'
  const key = passing ? createHostileKey('Ed25519', random) : keys.own
  if (passing) await keys.add(key)
  const token = jwt && mint(jwt, named(jwt, names, stranger), { keys, origin: ORIGIN, key, random })
  return {
    names,
    headers: headersOf(state, { token, names }),
    async change() {
      await applyToRows(app, state, names)
      if (passing) await keys.remove(key satisfies HostileKey, { leaked: jwt.flaw === 'key leaks' })
    },
  }
}

function named({ names }: JwtFacts, { userId, sessionId, otherSessionId }: Names, stranger: Named): Named {
  switch (names) {
    case 'own session':
      return { userId, sessionId }
    case 'other session of theirs':
      return { userId, sessionId: otherSessionId }
    case 'session of another':
      return { userId, sessionId: stranger.sessionId }
    case 'other user, own session':
      return { userId: stranger.userId, sessionId }
  }
}

/** Returns the request headers. A bearer token is sufficient with any origin and any cookies. */
function headersOf(
  { transport, cookies }: State,
  { token, names }: { token: string | null; names: Names },
): Record<string, string> {
  const { sessionId, otherSessionId } = names
  const jwt = token === null ? [] : [`service.jwt=${transport === 'bearer' ? 'a.b.c' : token}`]
  const session = `service.session=${sessionId}.secret`
  const pairs = {
    'JWT alone': jwt,
    both: [...jwt, session],
    'session of another tab': [`service.session=${otherSessionId}.secret`, ...jwt],
    'JWT twice': [...jwt, session, ...jwt],
    'session twice': [session, ...jwt, session],
  }[cookies]
  const cookie = pairs.length === 0 ? {} : { cookie: pairs.join('; ') }
  if (transport === 'cookie') return { origin: ORIGIN, ...cookie }
  if (token === null) return {}
  return { ...FOREIGN, ...cookie, authorization: `Bearer ${token}` }
}

async function applyToRows(
  { tables, store }: PathsApp,
  { session, ban: { banned, banExpires }, database }: State,
  { userId, sessionId }: Names,
): Promise<void> {
  const end = toText(banExpires)
  await sql`update user set banned = ${banned ? 1 : 0}, banExpires = ${end} where id = ${userId}`.execute(
    tables,
  )
  if (session === null) await tables.deleteFrom('session').where('id', '=', sessionId).execute()
  else {
    const expiresAt = toText(session.expiresAt)
    await sql`update session set expiresAt = ${expiresAt} where id = ${sessionId}`.execute(tables)
  }
  store.answer =
    database === 'answers' ? null : () => Promise.reject(new Error('The database is unreachable'))
}

const toText = (moment: number | 'unreadable' | null) =>
  typeof moment === 'number' ? new Date(moment).toISOString() : moment

const idOf = (random: Random) => random.bytes(16).toString('hex')
