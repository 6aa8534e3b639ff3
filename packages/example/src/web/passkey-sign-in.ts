import type { PasskeyAssertion } from '@sallyport/core/plugins/passkeys'
import {
  browserSupportsWebAuthnAutofill,
  startAuthentication,
  WebAuthnAbortService,
} from '@simplewebauthn/browser'
import { type UseMutationResult, useMutation } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useAppAuth } from './clients.ts'
import { askForPasskey } from './passkey-prompt.ts'

/** The server accepts a response for 5 minutes. */
const OFFER_MS = 4 * 60_000

/**
 * Signs in with a passkey. `mutate(undefined)` opens a prompt. The browser also offers passkeys in the
 * username field.
 */
export function usePasskeySignIn(): UseMutationResult<unknown, Error, PasskeyAssertion | undefined> {
  const { client } = useAppAuth()
  // One after the other: the first in a new browser sets the cookie that binds all of them to it.
  const requested = useRef<Promise<unknown>>(Promise.resolve())
  const signIn = useMutation({
    mutationFn: async (chosen: PasskeyAssertion | undefined) => {
      await requested.current
      const response = chosen ?? (await askForPasskey(await client.api.createPasskeySignInOptions()))
      return client.api.signInPasskey({ response })
    },
  })
  const { isIdle, isError, mutate } = signIn
  // A prompt takes the place of the offer.
  const isWaiting = isIdle || isError
  useEffect(() => {
    if (!isWaiting) return
    let isOver = false
    let offeredAt = Number.NEGATIVE_INFINITY
    const offer = async () => {
      offeredAt = performance.now()
      if (!(await browserSupportsWebAuthnAutofill()) || isOver) return
      const options = client.api.createPasskeySignInOptions()
      requested.current = options.catch(() => {})
      const optionsJSON = await options
      if (!isOver) mutate(await startAuthentication({ optionsJSON, useBrowserAutofill: true }))
    }
    // The button works without an offer, and says what is wrong. Each offer ends the one before.
    const renew = () => {
      if (performance.now() - offeredAt > OFFER_MS) void offer().catch(() => {})
    }
    renew()
    document.addEventListener('focusin', renew)
    return () => {
      isOver = true
      document.removeEventListener('focusin', renew)
    }
  }, [client, isWaiting, mutate])
  useEffect(() => () => WebAuthnAbortService.cancelCeremony(), [])
  return signIn
}
