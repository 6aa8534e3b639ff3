import { pruningTime } from '../../database/clock-skew.ts'
import { limitAddress } from '../../endpoints/attempts.ts'
import { defineEndpoint, type Endpoint, type EndpointContext } from '../../endpoints/endpoint.ts'
import { beginSession } from '../../endpoints/issue-tokens.ts'
import { noFields, tokens } from '../../endpoints/plain-schemas.ts'
import { findToken } from '../../lifecycle/refresh-session.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { secretStatus } from '../../session/secret.ts'
import { pruneAnonymousUsers } from './prune.ts'
import { anonymousError, type Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** Deletes old users at most once a minute. */
const PRUNING = { points: 1, duration: 60 }

/** Creates an anonymous user, and signs them in. Rejects a signed-in browser, which would lose its user. */
export function signInAnonymous({ limits, pruneAfterDays }: Settings): Endpoint<object, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.signInAnonymous,
    caller: 'anyone',
    setsCookies: true,
    input: noFields,
    output: tokens,
    async run(_input, context) {
      await limitAddress(context, 'anonymous', limits.address)
      if (await isSignedIn(context)) throw anonymousError('ALREADY_SIGNED_IN')
      const userId = await createAnonymousUser(context)
      const { database, config, later } = context
      if (pruneAfterDays !== undefined)
        later(async () => {
          if ((await database.limits.consume('anonymous:prune', PRUNING)) !== null) return
          const now = await pruningTime(config.now(), database.db, database.types.engine)
          const createdBefore = new Date(now.getTime() - pruneAfterDays * DAY_MS)
          await pruneAnonymousUsers({ database, later, createdBefore, now })
        })
      // The browser stays known for the user who signed in before.
      return beginSession(userId, context, { unknownBrowser: 'ignore' })
    },
  })
}

async function isSignedIn({ sessionCookie, database, config }: EndpointContext): Promise<boolean> {
  if (sessionCookie === null) return false
  const found = await findToken(sessionCookie.sessionId, database, config)
  const now = config.now()
  if (found === null || found.expiresAt <= now) return false
  const status = await secretStatus(sessionCookie.secret, found, now)
  return status === 'current' || status === 'previous'
}

function createAnonymousUser({ change, config }: EndpointContext): Promise<string> {
  const now = config.now()
  return change(async (trx, record) => {
    const id = crypto.randomUUID()
    // No mail program delivers to this domain (RFC 2606 section 2).
    const own = { id, name: 'Anonymous', email: `${id}@anonymous.invalid`, isAnonymous: true }
    const initial = { emailVerified: false, image: null, role: 'user' }
    const ban = { banned: false, banReason: null, banExpires: null }
    const row = { ...own, ...initial, ...ban, createdAt: now, updatedAt: now }
    await withOwnTables(trx).insertInto('user').values(row).execute()
    record({ type: 'user.created', userId: id, actorId: null, at: now })
    return id
  })
}
