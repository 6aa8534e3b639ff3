import { isAuthError, isEndpointError } from '@sallyport/core'
import type { Context } from 'hono'
import { auth } from './auth-server.ts'
import { loadBuild } from './load-build.ts'
import { remoteAddress } from './remote-address.ts'
import { renderPage } from './render-page.ts'
import { inputMessage } from './web/ui/input-message.ts'

export type FormPath = '/sign-in' | '/sign-up' | '/sign-out' | '/forgot-password'

/**
 * Handles a form of a browser without JavaScript: calls the endpoint, then redirects or shows the error on
 * the page.
 */
export async function receiveForm(c: Context, path: FormPath): Promise<Response> {
  const form = new URLSearchParams(await c.req.text())
  const { password: _password, ...values } = Object.fromEntries(form)
  try {
    // The endpoint checks the origin, so only our own pages can send the form.
    const headers = await callEndpoint(path, { form, request: c.req.raw, remoteAddress: remoteAddress(c) })
    if (headers === null)
      return await renderPage(c, { result: { path, values, isSuccess: true }, status: 200 })
    for (const setCookie of headers.getSetCookie()) c.header('set-cookie', setCookie, { append: true })
    c.header('cache-control', 'private, no-store')
    const { nextPath } = (await loadBuild()).web
    return c.redirect(nextPath(form.get('next')), 303)
  } catch (error) {
    const { message, status, retryAfterSeconds } = describe(error)
    if (retryAfterSeconds !== null) c.header('retry-after', String(retryAfterSeconds))
    return renderPage(c, { result: { path, values, isSuccess: false, message }, status })
  }
}

interface FormCall {
  readonly form: URLSearchParams
  readonly request: Request
  readonly remoteAddress: string | undefined
}

/** Returns the headers that sign the browser in or out; null for the other form. */
async function callEndpoint(path: FormPath, { form, ...options }: FormCall): Promise<Headers | null> {
  const email = form.get('email') ?? ''
  const password = form.get('password') ?? ''
  const name = form.get('name') ?? ''
  if (path === '/sign-in') return (await auth.api.signInEmail({ email, password, ...options })).headers
  if (path === '/sign-up') return (await auth.api.signUpEmail({ name, email, password, ...options })).headers
  if (path === '/sign-out') return (await auth.api.signOut(options)).headers
  await auth.api.requestPasswordReset({ email, ...options })
  return null
}

interface FormError {
  readonly message: string
  readonly status: number
  readonly retryAfterSeconds: number | null
}

function describe(error: unknown): FormError {
  if (isAuthError(error)) {
    const { message, status, retryAfterSeconds } = error
    return { message, status, retryAfterSeconds }
  }
  if (isEndpointError(error)) {
    const { code, message, fields, status } = error
    const text = code === 'INVALID_INPUT' ? inputMessage(fields) : message
    return { message: text, status, retryAfterSeconds: null }
  }
  console.error(error)
  return { message: 'Something went wrong. Try again.', status: 500, retryAfterSeconds: null }
}
