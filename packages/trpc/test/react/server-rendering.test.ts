import type { HydrationState } from '@sallyport/core/internal/protocol'
import type { TestAuth } from '@sallyport/core/testing'
import { createAuthClient } from '@sallyport/trpc/client'
import { AuthProvider, SignedIn, useAuth } from '@sallyport/trpc/react'
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createApp } from './pages/create-app.tsx'

const signedIn = {
  status: 'authenticated',
  userId: 'u1',
  sessionId: 's1',
  expiresIn: 900,
} as const satisfies HydrationState

const Message = () => useAuth().error?.message

describe('a server-rendered page', () => {
  test.each<{ hydrate: HydrationState | undefined; status: string; shows: string; hides: string[] }>([
    {
      hydrate: signedIn,
      status: 'authenticated',
      shows: 'Sign out',
      hides: ['Sign in', 'One moment'],
    },
    {
      hydrate: { status: 'unauthenticated' },
      status: 'unauthenticated',
      shows: 'Sign in',
      hides: ['Sign out', 'One moment'],
    },
    {
      hydrate: { status: 'unknown' },
      status: 'unknown',
      shows: 'One moment',
      hides: ['Sign in', 'Sign out'],
    },
    { hydrate: undefined, status: 'loading', shows: 'One moment', hides: ['Sign in', 'Sign out'] },
  ])('shows "$shows" and nothing else to a user who is $status', ({ hydrate, status, shows, hides }) => {
    const html = renderToString(createApp({ hydrate }).element)
    expect(html).toContain(`<output id="status">${status}</output>`)
    expect(html).toContain(shows)
    for (const hidden of hides) expect(html).not.toContain(hidden)
  })

  test('shows "Account banned" to a banned user', () => {
    const client = createAuthClient<TestAuth['api']>({
      hydrate: { status: 'unknown', reason: 'ACCOUNT_BANNED' },
    })
    expect(renderToString(createElement(AuthProvider, { client }, createElement(Message)))).toBe(
      'Account banned',
    )
  })

  test('sends no request, and leaves no work behind', () => {
    const fetch = vi.spyOn(globalThis, 'fetch')
    const timer = vi.spyOn(globalThis, 'setTimeout')
    onTestFinished(() => void vi.restoreAllMocks())
    renderToString(createApp({ hydrate: signedIn }).element)
    expect(fetch).not.toHaveBeenCalled()
    expect(timer).not.toHaveBeenCalled()
  })

  test('has hooks that only work below a provider', () => {
    expect(() => renderToString(createElement(SignedIn))).toThrow('Wrap this in <AuthProvider>')
  })
})
