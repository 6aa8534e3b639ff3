import type { oauth } from '@sallyport/core/plugins/oauth'
import type { totp } from '@sallyport/core/plugins/totp'
import type { TestAuth } from '@sallyport/core/testing'
import { AuthClientError, type AuthState, createAuthClient, openPopup } from '@sallyport/trpc/client'

type Api = TestAuth<readonly [ReturnType<typeof oauth>, ReturnType<typeof totp>]>['api']

const client = createAuthClient<Api>()

/** The members of an error that a page reads. */
type Failure = Pick<AuthClientError, 'code' | 'challenge'>

/** Visits the provider in a pop-up, and returns the id of the user, or the error. */
export const visit = (
  name: 'signInOauth' | 'reauthenticateOauth' | 'linkAccount',
  page?: string,
): Promise<string | null | Failure> =>
  openPopup(client, (pages) => client.api[name]({ provider: 'acme', ...pages }), page).then(
    ({ userId }) => userId,
    (error: unknown) => {
      if (!(error instanceof AuthClientError)) throw error
      return { code: error.code, challenge: error.challenge }
    },
  )

/** Follows the other tabs. */
export const follow = (): unknown => void client.subscribe(() => {})

export const getState = (): AuthState => client.getState()

export const signOut = (): Promise<AuthState> => client.signOut()

export const enableTotp = async (): Promise<string> => (await client.api.enableTotp()).secret

export const confirmTotp = (code: string): Promise<unknown> => client.api.confirmTotp({ code })

export const sendCode = (challenge: string, code: string): Promise<unknown> =>
  client.api.signInTotp({ challenge, code })

/** As a browser does without a click. */
export function blockPopups(): void {
  window.open = () => null
}
