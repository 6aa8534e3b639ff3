import type { AuthDatabase } from '@sallyport/core'
import { issueJwt } from '@sallyport/core/auth'
import { keyOf } from '../../../core/bench/many-sessions.ts'
import { createIssuer } from '../../../core/test/support/create-issuer.ts'
import { createOpener, type Stream } from '../open-stream.ts'

/** Opens a guarded stream of the session with this index. */
export type OpenSession = (index: number, database: { readonly db: AuthDatabase }) => Promise<Stream>

export async function createSessionOpener(): Promise<OpenSession> {
  const { config, key } = await createIssuer()
  const open = createOpener(config)
  const expiresAt = new Date(Date.now() + 86_400_000)
  const cookies = new Map<number, Promise<string>>()

  /** Issues each JWT once, because a hundred thousand take a while. */
  async function issue(index: number): Promise<string> {
    const { sessionId, userId } = keyOf(index)
    const { token } = await issueJwt({ id: sessionId, userId, expiresAt }, { key, config })
    return `${config.cookies.jwt}=${token}`
  }

  return async (index, { db }) => {
    const cookie = cookies.get(index) ?? issue(index)
    cookies.set(index, cookie)
    return open(await cookie, db)
  }
}
