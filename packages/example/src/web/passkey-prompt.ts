import { browserSupportsWebAuthn, startAuthentication, startRegistration } from '@simplewebauthn/browser'

type SignInOptions = Parameters<typeof startAuthentication>[0]['optionsJSON']
type NewOptions = Parameters<typeof startRegistration>[0]['optionsJSON']

/** Asks the user for a passkey. @throws Error for the page */
export const askForPasskey = (optionsJSON: SignInOptions) =>
  startAuthentication({ optionsJSON }).catch(rejectPlainly)

/** Asks the user to create a passkey. @throws Error for the page */
export const createPasskey = (optionsJSON: NewOptions) =>
  startRegistration({ optionsJSON }).catch(rejectPlainly)

/** The messages of browsers differ, and link to specifications. */
function rejectPlainly(cause: unknown): never {
  if (!browserSupportsWebAuthn()) throw new Error('This browser does not support passkeys.', { cause })
  const isKnown = cause instanceof Error && cause.name === 'InvalidStateError'
  const message = isKnown
    ? 'This device already has a passkey for your account.'
    : 'The browser used no passkey. Try again.'
  throw new Error(message, { cause })
}
