import { isAuthError } from '@sallyport/core'
import { createAuthContext } from '@sallyport/trpc'
import { bindRunner } from '@sallyport/trpc/action'
import type { Context } from 'hono'
import { authConfig } from './auth.config.ts'
import { getAuth } from './get-auth.ts'
import { runner } from './runner.ts'

const contexts = createAuthContext(authConfig)

/** `GET /sessions.csv`: an HTTP route outside tRPC that lists the caller's devices. */
export async function exportSessions({ req: { raw } }: Context): Promise<Response> {
  const { auth } = contexts.headers(raw.headers, { method: raw.method })
  try {
    const { sessions } = await getAuth({ auth, ...bindRunner(runner) }).api.listSessions()
    const rows = sessions.map(({ device, address, lastSeenAt }) =>
      [device, address, lastSeenAt].map(toCell).join(),
    )
    return new Response(['device,address,last seen', ...rows].join('\n'), {
      headers: { 'content-type': 'text/csv', 'cache-control': 'no-store' },
    })
  } catch (error) {
    if (isAuthError(error)) return new Response(error.message, { status: error.status })
    throw error
  }
}

/** A device can be any text. Spreadsheets would run one like `=A1` as a formula. */
function toCell(text: string | null): string {
  const shown = (text ?? '').replace(/^[=+\-@]/, "'$&")
  return `"${shown.replaceAll('"', '""')}"`
}
