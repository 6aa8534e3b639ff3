// A Worker without a database: another process reads the sessions.
import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { defineAuth } from '@sallyport/core/auth'
import { admin } from '@sallyport/core/plugins/admin'
import {
  type AuthContext,
  authErrorData,
  createAuthContext,
  createHandler,
  type Handler,
  type HandlerContextOptions,
  requireRole,
} from '@sallyport/trpc'
import { createAuthedAction, createAuthRuntime, httpRunner, type Runner } from '@sallyport/trpc/action'
import { initTRPC } from '@trpc/server'

interface Env {
  readonly BASE_URL: string
  readonly JWKS: string
  readonly INTERNAL_URL: string
  readonly SERVICE_SIGNING_KEYS: string
}

const t = initTRPC.context<AuthContext & { readonly runner: Runner }>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})

function createWorker({ BASE_URL, JWKS, INTERNAL_URL, SERVICE_SIGNING_KEYS }: Env): Handler {
  const config = defineAuthConfig({ baseUrl: BASE_URL, jwks: staticJwks(JWKS) })
  const context = createAuthContext(config)
  const service = { name: 'worker', signingKeys: SERVICE_SIGNING_KEYS }
  const runner = httpRunner({ url: INTERNAL_URL, service, config })
  const { getAuth } = createAuthRuntime(() =>
    defineAuth({ config, signingKeys: undefined, plugins: [admin()] }),
  )
  const authedAction = createAuthedAction(t.procedure, getAuth, ({ runner }) => runner)
  const router = t.router({
    me: authedAction.query(({ ctx }) => ctx.user),
    users: authedAction
      .use(requireRole('admin'))
      .query(async ({ ctx }) => (await ctx.auth.api.listUsers()).users),
    rotateKey: authedAction.mutation(({ ctx }) => ({ userId: ctx.user.id, key: crypto.randomUUID() })),
    ticks: authedAction.subscription(async function* () {
      for (let tick = 1; ; tick++) {
        yield tick
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }),
  })
  const createContext = (options: HandlerContextOptions) => ({ ...context.http(options), runner })
  return createHandler({ config, router, createContext })
}

let handler: Handler | undefined

export default {
  fetch(request: Request, env: Env): Promise<Response> {
    handler ??= createWorker(env)
    return handler(request, { remoteAddress: request.headers.get('cf-connecting-ip') ?? undefined })
  },
}
