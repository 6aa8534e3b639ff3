import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { cookieOf, PASSWORD } from '../create-auth.ts'
import { auth } from './auth.ts'
import { httpContext } from './guard.ts'
import { appRouter } from './router.ts'

type Headers = Readonly<Record<string, string>>

/** Calls a procedure over HTTP. Returns its result, or the reason of its rejection. */
export async function call(path: string, headers: Headers, method = 'GET'): Promise<unknown> {
  const init = {
    method,
    headers: { ...headers, ...(method === 'POST' && { 'content-type': 'application/json' }) },
  }
  const req = new Request(`http://localhost:3000/trpc/${path}`, init)
  const options = { endpoint: '/trpc', req, router: appRouter, createContext: httpContext }
  const { result, error } = await (await fetchRequestHandler(options)).json()
  return error === undefined ? result.data : (error.data.auth?.reason ?? error.data.code)
}

/** The headers of a browser on a page of the app. */
export const page = (cookie: string): Headers => ({ cookie, 'sec-fetch-site': 'same-origin' })

/** Signs a new user up. */
export async function signUp(
  name: string,
): Promise<{ userId: string; email: string; cookie: string; token: string }> {
  const email = `${name}@example.com`
  const body = { name, email, password: PASSWORD }
  const { headers, response } = await auth.api.signUpEmail({ body, returnHeaders: true })
  return { userId: response.user.id, email, token: response.token ?? '', cookie: cookieOf(headers) }
}
