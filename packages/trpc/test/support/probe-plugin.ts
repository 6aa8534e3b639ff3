import { AuthError } from '@sallyport/core'
import { type AuthPlugin, defineEndpoint, type Endpoint, rejections } from '@sallyport/core/auth'
import * as z from 'zod'

const reasons = { PROBE_TAKEN: { status: 409, message: 'Somebody has it already' } } as const
const reject = rejections(reasons)

/** The challenge with which the endpoint `challenge` rejects. */
export const PROBE_CHALLENGE = { token: 'a-token', methods: ['otp'], expiresIn: 300 } as const

interface Seen {
  caller: string | null
  text: string
}

type ProbeEndpoints = {
  readonly readAsAnyone: Endpoint<{ text?: string | undefined }, Seen>
  readonly readAsUser: Endpoint<object, Seen>
  readonly writeAsUser: Endpoint<{ text: string }, Seen, false>
  readonly writeAsFreshUser: Endpoint<{ text: string }, Seen, false>
  readonly writeAsAdmin: Endpoint<{ text: string }, Seen, false>
  readonly setCookie: Endpoint<object, Seen, true>
  readonly readAsToken: Endpoint<object, Seen, false>
  readonly takeName: Endpoint<object, Seen, false>
  readonly spend: Endpoint<object, Seen, false>
  readonly challenge: Endpoint<object, Seen, false>
  readonly breakDown: Endpoint<object, Seen, false>
  readonly see: Endpoint<object, { address: string | null; headers: Record<string, string | null> }, false>
}

const userColumns = { locale: { schema: z.enum(['en', 'de']), default: 'en', input: true } } as const
const sessionColumns = {
  theme: { schema: z.string().nullable() },
  toured: { type: 'flag', schema: z.boolean(), default: false },
  askedAt: { type: 'timestamp', schema: z.string().nullable() },
} as const

/** Creates a plugin with an endpoint of every kind that returns its caller, and endpoints that reject. */
export function probePlugin(): AuthPlugin<ProbeEndpoints, typeof userColumns, typeof sessionColumns> & {
  /** The names of the endpoints that ran. */
  readonly runs: string[]
} {
  const runs: string[] = []
  const seen = z.object({ caller: z.string().nullable(), text: z.string() })
  const nothing = z.object({})
  const text = z.strictObject({ text: z.string().min(2) })

  /** Records a run and its user. */
  function note(name: string, context: object, said = ''): { body: Seen } {
    runs.push(name)
    const caller = 'session' in context ? (context.session as { userId: string }).userId : null
    return { body: { caller, text: said } }
  }

  return {
    id: 'probe',
    runs,
    reasons,
    userColumns,
    sessionColumns,
    endpoints: {
      readAsAnyone: defineEndpoint({
        method: 'GET',
        path: '/probe/read-as-anyone',
        caller: 'anyone',
        input: z.object({ text: z.string().optional() }),
        output: seen,
        run: async ({ text: said }, context) => note('readAsAnyone', context, said),
      }),
      readAsUser: defineEndpoint({
        method: 'GET',
        path: '/probe/read-as-user',
        caller: 'user',
        input: nothing,
        output: seen,
        run: async (_input, context) => note('readAsUser', context),
      }),
      writeAsUser: defineEndpoint({
        method: 'POST',
        path: '/probe/write-as-user',
        caller: 'user',
        input: text,
        output: seen,
        run: async ({ text: said }, context) => note('writeAsUser', context, said),
      }),
      writeAsFreshUser: defineEndpoint({
        method: 'POST',
        path: '/probe/write-as-fresh-user',
        caller: 'fresh-user',
        input: text,
        output: seen,
        run: async ({ text: said }, context) => note('writeAsFreshUser', context, said),
      }),
      writeAsAdmin: defineEndpoint({
        method: 'POST',
        path: '/probe/write-as-admin',
        caller: 'admin',
        input: text,
        output: seen,
        run: async ({ text: said }, context) => note('writeAsAdmin', context, said),
      }),
      setCookie: defineEndpoint({
        method: 'POST',
        path: '/probe/set-cookie',
        caller: 'anyone',
        setsCookies: true,
        input: nothing,
        output: seen,
        run: async (_input, context) => ({
          ...note('setCookie', context),
          cookies: ['probe=1; Path=/', 'tried=2; Path=/'],
        }),
      }),
      readAsToken: defineEndpoint({
        method: 'GET',
        path: '/probe/read-as-token',
        caller: 'anyone',
        origin: 'token',
        input: nothing,
        output: seen,
        run: async (_input, context) => note('readAsToken', context),
      }),
      takeName: defineEndpoint({
        method: 'POST',
        path: '/probe/take-name',
        caller: 'user',
        input: nothing,
        output: seen,
        run: () => Promise.reject(reject('PROBE_TAKEN')),
      }),
      spend: defineEndpoint({
        method: 'POST',
        path: '/probe/spend',
        caller: 'user',
        input: nothing,
        output: seen,
        run: () => Promise.reject(new AuthError('RATE_LIMITED', { retryAfterSeconds: 42 })),
      }),
      challenge: defineEndpoint({
        method: 'POST',
        path: '/probe/challenge',
        caller: 'anyone',
        input: nothing,
        output: seen,
        run: () => Promise.reject(new AuthError('FACTOR_REQUIRED', { challenge: PROBE_CHALLENGE })),
      }),
      breakDown: defineEndpoint({
        method: 'POST',
        path: '/probe/break-down',
        caller: 'user',
        input: nothing,
        output: seen,
        run: () => Promise.reject(new Error('insert into secret')),
      }),
      see: defineEndpoint({
        method: 'GET',
        path: '/probe/see',
        caller: 'anyone',
        input: nothing,
        output: z.object({
          address: z.string().nullable(),
          headers: z.record(z.string(), z.string().nullable()),
        }),
        run: async (_input, { address, request }) => ({
          body: {
            address,
            headers: Object.fromEntries(
              ['user-agent', 'origin', 'referer', 'x-forwarded-for', 'x-tenant'].map((name) => [
                name,
                request.header(name),
              ]),
            ),
          },
        }),
      }),
    },
  }
}
