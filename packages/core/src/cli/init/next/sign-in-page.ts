/** A page for `app/sign-in`, with email and password. */
export const SIGN_IN_PAGE = `'use client'

import { type AuthClient, AuthClientError } from '@sallyport/trpc/client'
import { useAuth } from '@sallyport/trpc/react'
import { useActionState } from 'react'
import type { auth } from '../../context'

export default function SignInPage() {
  const { client, isAuthenticated, signOut } = useAuth<AuthClient<typeof auth.api>>()
  const [rejection, submit, isPending] = useActionState(async (_before: string, form: FormData) => {
    const email = String(form.get('email'))
    const input = { email, password: String(form.get('password')), redirectTo: '/' }
    try {
      if (form.get('action') === 'sign-up') await client.api.signUpEmail({ ...input, name: email })
      else await client.api.signInEmail(input)
      return ''
    } catch (error) {
      if (error instanceof AuthClientError) return [error.message, ...error.fields].join(' ')
      throw error
    }
  }, '')
  if (isAuthenticated) return <button onClick={signOut}>Sign out</button>
  return (
    <form action={submit}>
      <input name="email" type="email" autoComplete="username" placeholder="Email" required />
      <input name="password" type="password" autoComplete="current-password" placeholder="Password" required />
      <button name="action" value="sign-in" disabled={isPending}>
        Sign in
      </button>
      <button name="action" value="sign-up" disabled={isPending}>
        Sign up
      </button>
      <p role="alert">{rejection}</p>
    </form>
  )
}
`
