import type { TestAuth } from '@sallyport/core/testing'
import { authLink, createAuthClient } from '@sallyport/trpc/client'
import { AuthLoading, AuthProvider, SignedIn, SignedOut, useAuth } from '@sallyport/trpc/react'
import { createTRPCClient, httpLink } from '@trpc/client'
import { type FormEvent, type ReactNode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import type { AppRouter } from '../../support/router.ts'

const authClient = createAuthClient<TestAuth['api']>()
const trpc = createTRPCClient<AppRouter>({
  links: [authLink(authClient), httpLink({ url: '/trpc', fetch: authClient.fetch })],
})

function App(): ReactNode {
  const { error } = useAuth()
  return (
    <>
      {error && <p role="alert">{error.message}</p>}
      <AuthLoading>
        <p>One moment</p>
      </AuthLoading>
      <SignedOut>
        <SignIn />
      </SignedOut>
      <SignedIn>
        <Work />
      </SignedIn>
    </>
  )
}

function SignIn(): ReactNode {
  async function signIn(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    await authClient.api.signInEmail({
      email: String(form.get('email')),
      password: String(form.get('password')),
    })
  }
  return (
    <form onSubmit={signIn}>
      <h1>Sign in</h1>
      <input name="email" />
      <input name="password" type="password" />
      <button type="submit">Sign in</button>
    </form>
  )
}

function Work(): ReactNode {
  const { signOut } = useAuth()
  const [text, setText] = useState('Nothing done yet')
  async function work() {
    setText('Working')
    await trpc.me.query().then(
      () => setText('Access granted'),
      () => setText('Failed'),
    )
  }
  return (
    <main>
      <p>{text}</p>
      <button type="button" onClick={work}>
        Work
      </button>
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
    </main>
  )
}

const root = document.querySelector('#root')
if (root === null) throw new Error('There is no place for the app')
const texts: string[] = []
new MutationObserver(() => void texts.push(text())).observe(root, {
  subtree: true,
  childList: true,
  characterData: true,
})
createRoot(root).render(
  <AuthProvider client={authClient}>
    <App />
  </AuthProvider>,
)

/** Returns the page's text. */
export function text(): string {
  return Array.from(document.querySelectorAll('h1, p'), ({ textContent }) => textContent).join(', ')
}

/** Returns the texts that the page has shown since {@link forget}, in order. */
export function seen(): string[] {
  return texts
}

export function forget(): void {
  texts.splice(0)
}

/** Calls the API without going through the page. */
export async function callAgain(): Promise<string> {
  return trpc.me.query().then(
    () => 'accepted',
    (error) => error.data?.auth?.reason ?? error.message,
  )
}
