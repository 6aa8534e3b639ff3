import { isAuthError, sessionsOf, validateSession, verifyJwt } from '@sallyport/core'
import { createTestAuth } from '@sallyport/core/testing'

/** Returns both steps' results for a test session, while it is valid and after its revocation. */
export async function statesOfTestSession(): Promise<string[]> {
  const auth = await createTestAuth()
  const session = await auth.signIn()

  async function ask(): Promise<string> {
    try {
      const identity = await verifyJwt(session.token, auth.config)
      await validateSession(identity, sessionsOf(auth.db), auth.config)
      return 'accepted'
    } catch (error) {
      if (isAuthError(error)) return error.reason
      throw error
    }
  }

  const before = await ask()
  await auth.revoke(session)
  const after = await ask()
  await auth.close()
  return [before, after]
}
