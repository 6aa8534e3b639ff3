import {
  type AuthAdapter,
  type AuthConfig,
  type Identity,
  type Session,
  validateIdentity,
} from '@sallyport/core'

/** What one read has told of those who rest on a session. */
export interface Verdict {
  /** The session, where it counts for any of them. */
  readonly session: Session | null
  /** Why it does not count, for those of whom it is so. */
  readonly refusals: ReadonlyMap<string, unknown>
}

/**
 * Step 2 for several identities of one session, with one lookup. Tells the app nothing: a read that is tried again has refused nobody.
 *
 * @param identities by any name
 * @param options.config waits for the answer as long as it says
 */
export async function readForAll(
  identities: ReadonlyMap<string, Identity>,
  { config, adapter }: { config: AuthConfig; adapter: AuthAdapter },
): Promise<Verdict> {
  const options = {
    config: config.onEvent === undefined ? config : { ...config, onEvent: undefined },
    adapter: askedOnce(adapter),
  }
  const refusals = new Map<string, unknown>()
  let session: Session | null = null
  for (const [name, identity] of identities) {
    try {
      session = await validateIdentity(identity, options)
    } catch (error) {
      refusals.set(name, error)
    }
  }
  return { session, refusals }
}

function askedOnce(adapter: AuthAdapter): AuthAdapter {
  let answer: { session: ReturnType<AuthAdapter['findSession']> } | null = null
  return {
    findSession(key) {
      answer ??= { session: adapter.findSession(key) }
      return answer.session
    },
  }
}
