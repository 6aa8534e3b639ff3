import { readIfExists } from '../changes.ts'
import { findAppFile } from './app-files.ts'

/** Also a catch-all, such as `[[...rest]]`. */
const PAGE = /^app\/sign-in\/(?:\[.*\]\/)?page\.[jt]sx?$/

/** Plans the page for `/sign-in`, unless the app has one. */
export function planSignIn(): { files: Readonly<Record<string, string>>; byHand: string } {
  const own = findAppFile(PAGE)
  return own === undefined || readIfExists(own) === SIGN_IN_PAGE
    ? { files: { 'app/sign-in/page.tsx': SIGN_IN_PAGE }, byHand: 'Sign up at /sign-in.' }
    : { files: {}, byHand: `${own} exists. Let it call signInEmail: docs/react.md.` }
}

/** A page with email and password. */
export const SIGN_IN_PAGE = `'use client'

import { type AuthClient, AuthClientError } from '@sallyport/trpc/client'
import { useAuth } from '@sallyport/trpc/react'
import { useActionState } from 'react'
import type { auth } from '../../context'

export default function SignInPage() {
  const { client, isAuthenticated, signOut } = useAuth<AuthClient<typeof auth.api>>()
  const [failed, submit, isPending] = useActionState(async (_before: unknown, form: FormData) => {
    const email = form.get('email') as string
    const input = { email, password: form.get('password') as string, redirectTo: '/' }
    try {
      // The server rejects names that look like links, such as a.example.
      const name = email.replace(/@.*/, '').replaceAll('.', ' ')
      if (form.get('action') === 'sign-up') await client.api.signUpEmail({ ...input, name })
      else await client.api.signInEmail(input)
      return null
    } catch (error) {
      if (!(error instanceof AuthClientError)) throw error
      return { email, reason: [error.message, error.fields.join(', ')].filter(Boolean).join(': ') }
    }
  }, null)
  if (isAuthenticated) return <button type="button" onClick={signOut}>Sign out</button>
  return (
    <form action={submit}>
      <input
        name="email"
        type="email"
        autoComplete="username"
        placeholder="Email"
        defaultValue={failed?.email}
        required
      />
      <input name="password" type="password" autoComplete="current-password" placeholder="Password (8 characters or more)" required />
      <button type="submit" name="action" value="sign-in" disabled={isPending}>
        Sign in
      </button>
      <button type="submit" name="action" value="sign-up" disabled={isPending}>
        Sign up
      </button>
      <p role="alert">{failed?.reason}</p>
    </form>
  )
}
`
