import type { PasskeyAssertion } from '@sallyport/core/plugins/passkeys'
import {
  browserSupportsWebAuthnAutofill,
  startAuthentication,
  WebAuthnAbortService,
} from '@simplewebauthn/browser'
import { type UseMutationResult, useMutation } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useAppAuth } from './clients.ts'
import { askForPasskey } from './passkey-prompt.ts'

/** The server accepts a response for 5 minutes. */
const OFFER_MS = 4 * 60_000

/**
 * Signs in with a passkey that the user chooses in the username field, where the browser offers them, or,
 * without a variable, after a prompt.
 */
export function usePasskeySignIn(): UseMutationResult<unknown, Error, PasskeyAssertion | undefined> {
  const { client } = useAppAuth()
  const signIn = useMutation({
    mutationFn: async (chosen: PasskeyAssertion | undefined) => {
      const response = chosen ?? (await askForPasskey(await client.api.createPasskeySignInOptions()))
      return client.api.signInPasskey({ response })
    },
  })
  const { isPending, mutate } = signIn
  useEffect(() => {
    // A prompt takes the place of the offer.
    if (isPending) return
    let isOver = false
    const offer = async () => {
      if (!(await browserSupportsWebAuthnAutofill())) return
      const optionsJSON = await client.api.createPasskeySignInOptions()
      if (!isOver) mutate(await startAuthentication({ optionsJSON, useBrowserAutofill: true }))
    }
    // The button works without an offer, and says what is wrong. Each offer ends the one before.
    const begin = () => void offer().catch(() => {})
    begin()
    const timer = setInterval(begin, OFFER_MS)
    return () => {
      isOver = true
      clearInterval(timer)
    }
  }, [client, isPending, mutate])
  useEffect(() => () => WebAuthnAbortService.cancelCeremony(), [])
  return signIn
}
