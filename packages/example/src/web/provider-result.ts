import { AuthClientError } from '@sallyport/trpc/client'
import { useEffect, useState } from 'react'
import { useLocation, useNavigate, useSearchParams } from 'react-router'

/** Opens a page of the provider. The browser leaves the app. */
export const openProvider = ({ url }: { readonly url: string }): void => location.assign(url)

/** Returns why the browser came back from the provider without success. Undefined without an error. */
export function useProviderError(): string | undefined {
  const [search] = useSearchParams()
  const code = search.get('error')
  return code === null ? undefined : (MESSAGES[code] ?? 'The sign-in at the provider failed. Start again.')
}

/** Gives the error of a pop-up a text for its code. */
export function rejectPlainly(error: unknown): never {
  const message = error instanceof AuthClientError ? MESSAGES[error.code] : undefined
  throw message === undefined ? error : new Error(message, { cause: error })
}

/** The address may contain any text, so only known codes have a text. */
const MESSAGES: Readonly<Record<string, string>> = {
  SIGN_IN_CANCELED: 'You canceled the sign-in at the provider.',
  POPUP_BLOCKED: 'The browser blocked the window of the provider. Allow it, and try again.',
  SIGN_IN_EXPIRED: 'This sign-in has expired or was used. Start again.',
  ACCOUNT_EXISTS: 'An account with this email exists. Sign in to it, and then link the provider.',
  ACCOUNT_TAKEN: 'Another user has linked this account of the provider.',
  ACCOUNT_MISMATCH: 'This is another account of the provider. Choose the one that you have linked.',
  ACCOUNT_BANNED: 'This account is banned.',
  PROVIDER_EMAIL_UNVERIFIED: 'Confirm your email first, or use another way to sign in.',
  PROVIDER_UNAVAILABLE: 'The provider does not respond. Try again later.',
  REAUTHENTICATION_UNSUPPORTED: 'The provider could not confirm that it is you. Sign in again.',
  SESSION_NOT_FOUND: 'Your session has ended. Sign in, and start again.',
  RATE_LIMITED: 'Too many attempts. Try again later.',
}

interface Challenge {
  readonly token: string
  readonly methods: readonly string[]
}

/**
 * Returns the challenge that came back from the provider after the `#`, for a user with a second factor. It
 * leaves the address, and thus the history.
 */
export function useProviderChallenge(): { challenge: Challenge | null; forget: () => void } {
  const { pathname, search, hash } = useLocation()
  const navigate = useNavigate()
  const [challenge, setChallenge] = useState<Challenge | null>(null)
  useEffect(() => {
    const fragment = new URLSearchParams(hash.slice(1))
    const token = fragment.get('challenge')
    if (token === null) return
    setChallenge({ token, methods: fragment.get('methods')?.split(' ') ?? [] })
    const kept = new URLSearchParams(search)
    kept.delete('error')
    void navigate({ pathname, search: String(kept) }, { replace: true })
  }, [pathname, search, hash, navigate])
  return { challenge, forget: () => setChallenge(null) }
}
