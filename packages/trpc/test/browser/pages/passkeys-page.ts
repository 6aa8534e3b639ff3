import type { passkeys } from '@sallyport/core/plugins/passkeys'
import type { TestAuth } from '@sallyport/core/testing'
import { type AuthClientError, createAuthClient } from '@sallyport/trpc/client'
import { startAuthentication, startRegistration } from '@simplewebauthn/browser'

type Api = TestAuth<readonly [ReturnType<typeof passkeys>]>['api']

const { api } = createAuthClient<Api>()

/** Returns the id of the user, or the code of the rejection. */
async function outcomeOf(call: Promise<{ userId: string }>): Promise<string> {
  return call.then(
    ({ userId }) => userId,
    (error: AuthClientError) => error.code ?? String(error),
  )
}

export const signIn = (email: string, password: string): Promise<string> =>
  outcomeOf(api.signInEmail({ email, password }))

export async function addPasskey(name: string): Promise<string> {
  const response = await startRegistration({ optionsJSON: await api.createPasskeyOptions() })
  return outcomeOf(api.addPasskey({ response, name }))
}

export async function signInPasskey(): Promise<string> {
  const optionsJSON = await api.createPasskeySignInOptions()
  return outcomeOf(api.signInPasskey({ response: await startAuthentication({ optionsJSON }) }))
}

/** Signs in by a passkey that the browser offers in a field (conditional UI). */
export async function signInFromField(): Promise<string> {
  document.body.innerHTML = '<input autocomplete="username webauthn" />'
  const optionsJSON = await api.createPasskeySignInOptions()
  const response = await startAuthentication({ optionsJSON, useBrowserAutofill: true })
  return outcomeOf(api.signInPasskey({ response }))
}

export async function completeSignIn(email: string, password: string): Promise<string> {
  try {
    const { userId } = await api.signInEmail({ email, password })
    return userId
  } catch (error) {
    const { challenge } = error as AuthClientError
    const optionsJSON = await api.createPasskeySignInOptions()
    const response = await startAuthentication({ optionsJSON })
    return outcomeOf(api.signInPasskey({ response, ...(challenge && { challenge: challenge.token }) }))
  }
}

export async function reauthenticate(): Promise<string> {
  const optionsJSON = await api.createPasskeyReauthenticationOptions()
  return outcomeOf(api.reauthenticatePasskey({ response: await startAuthentication({ optionsJSON }) }))
}

export const signOut = (): Promise<unknown> => api.signOut()

/** Returns the names of the passkeys, and the methods that the session has proved. */
export async function read(): Promise<{ names: string[]; methods: string[] }> {
  const { passkeys } = await api.listPasskeys()
  const { session } = await api.getSession()
  return { names: passkeys.map(({ name }) => name), methods: session.amr }
}
