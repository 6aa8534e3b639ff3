/** What came back: the status, and the reason where there was a refusal. */
export interface Answer {
  readonly status: number
  readonly reason: string
  readonly message: string
}

/** A signed-in browser: a cookie jar that keeps to one site. */
export interface Browser {
  readonly userId: string
  readonly sessionId: string
  readonly cookies: Map<string, string>
  get(path: string): Promise<Answer>
  post(path: string): Promise<Answer>
}

interface Body {
  readonly userId?: string
  readonly sessionId?: string
  readonly code?: string
  readonly message?: string
  readonly error?: {
    readonly message: string
    readonly data: { readonly auth: { readonly reason: string } | null }
  }
}

/** Signs a new user up at a server and returns their browser. */
export async function signUp(baseUrl: string): Promise<Browser> {
  const cookies = new Map<string, string>()

  async function send(method: string, path: string, body?: object): Promise<Body & { status: number }> {
    const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: { 'x-sallyport': '1', 'content-type': 'application/json', cookie },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    for (const setCookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(setCookie) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    const answer: Body = await response.json()
    return { ...answer, status: response.status }
  }

  const email = `${crypto.randomUUID()}@example.com`
  const { userId = '', sessionId = '' } = await send('POST', '/api/auth/sign-up/email', {
    name: 'Grace',
    email,
    password: 'a long password',
  })
  return {
    userId,
    sessionId,
    cookies,
    get: async (path) => toAnswer(await send('GET', path)),
    post: async (path) => toAnswer(await send('POST', path)),
  }
}

function toAnswer({ status, code, message, error }: Body & { status: number }): Answer {
  return { status, reason: error?.data.auth?.reason ?? code ?? '', message: error?.message ?? message ?? '' }
}
