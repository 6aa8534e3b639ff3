import type { Revocation, RevocationFeed, SessionKey } from '@sallyport/core'
import type { SessionDatabase } from '@sallyport/core/auth'

/** Collects what a feed publishes from now on. */
export function collectRevocations(feed: RevocationFeed): Revocation[] {
  const published: Revocation[] = []
  const { publish } = feed
  feed.publish = (revocation) => {
    published.push(revocation)
    publish(revocation)
  }
  return published
}

/** Returns the result of Step 2 at the time that a revocation of this session is announced. */
export function foundWhenAnnounced(key: SessionKey, database: SessionDatabase): Promise<unknown> {
  const { revocations, sessions } = database
  const { publish } = revocations
  return new Promise((resolve) => {
    revocations.publish = (revocation) => {
      if (revocation.userId === key.userId) {
        revocations.publish = publish
        resolve(sessions.findSession(key))
      }
      publish(revocation)
    }
  })
}
