import type { AuthConfig, AuthStore, Identity, Session } from '@sallyport/core'
import { ConfigurationError } from '@sallyport/core'
import {
  authStore,
  consumeToken,
  isUnavailable,
  reportFailure,
  runOnce,
  type ServiceCall,
  type ServiceClaims,
  validateIdentity,
} from '@sallyport/core/internal/server'
import { type AnyTRPCRouter, callTRPCProcedure, type inferRouterContext, TRPCError } from '@trpc/server'
import { type CallLimits, checkLimits } from '../call/call-limits.ts'
import { CallRejection, isCallRejection } from '../call/call-rejection.ts'
import { encodeError, encodeResult, isObject, parseJson, toSafeError } from '../call/envelope.ts'
import { createInternalRouter, type EndpointsSource, type HasDatabase } from './internal-router.ts'

/** The acting user in the context of an internal function. All members are null without one. */
export interface ActingUser {
  readonly identity: Identity | null
  /** The session as Step 2 read it for this call. */
  readonly session: Session | null
  readonly user: Session['user'] | null
}

export interface InternalFunctionsOptions<Router extends AnyTRPCRouter>
  extends Pick<CallLimits, 'maxResponseBytes'> {
  /** The functions, in a router that no public handler serves. */
  readonly router: Router
  /** Returns the context of a call, without {@link ActingUser}. */
  readonly createContext: () => ContextOf<Router> | Promise<ContextOf<Router>>
  readonly config: AuthConfig
  /** From `createAuthRuntime`. Without it, actions can't reach the auth endpoints. */
  readonly getAuth?: EndpointsSource
}

type ContextOf<Router extends AnyTRPCRouter> = Omit<inferRouterContext<Router>, keyof ActingUser> &
  HasDatabase

/** A call in the process with the functions, as its service JWT describes it. */
export interface ArrivedCall extends ServiceCall {
  readonly body: Uint8Array
  readonly bodyDigest: string
  /** The service JWT. Null in the same process. */
  readonly token: ServiceClaims | null
  /** Aborts when the caller leaves or the time is up. */
  readonly signal: AbortSignal
}

/** The internal functions of an app, for `localRunner` and `createInternalHandler`. */
export interface InternalFunctions {
  readonly config: AuthConfig
  /**
   * Consumes the token, runs Step 2 for the acting user and then the function, and returns tRPC's envelope.
   *
   * @throws CallRejection if the function didn't run, or if its outcome is unknown
   */
  execute(call: ArrivedCall): Promise<string>
}

/**
 * Defines the internal functions through which actions use the database. Never serve the router to users.
 *
 * @example
 * export const internalFunctions = defineInternalFunctions({
 *   router: internalRouter,
 *   createContext: () => ({ db }),
 *   config: authConfig,
 *   getAuth,
 * })
 * @throws ConfigurationError for a subscription, a lazy router, a path at `sallyport`, or an invalid limit
 */
export function defineInternalFunctions<Router extends AnyTRPCRouter>({
  router: appRouter,
  createContext,
  config,
  getAuth,
  ...limits
}: InternalFunctionsOptions<Router>): InternalFunctions {
  const { maxResponseBytes } = checkLimits(limits)
  const router = createInternalRouter(appRouter, { config, getAuth })
  const report = (error: unknown, path: string) => reportFailure(error, { path, step: 'procedure' }, config)

  async function execute(call: ArrivedCall): Promise<string> {
    const input = decodeInput(call)
    const { path, type } = call
    const procedure = Object.hasOwn(router._def.procedures, path) ? router._def.procedures[path] : null
    if (procedure?._def.type !== type) throw new CallRejection('FUNCTION_NOT_FOUND')
    try {
      return await authorizeAndRun(call, input)
    } catch (error) {
      if (isCallRejection(error)) throw error
      const safeError = isUnavailable(error) ? null : toSafeError(error)
      if (safeError === null) throw new CallRejection('UNDECIDED', { cause: error })
      return encodeError(safeError)
    }
  }

  async function authorizeAndRun(call: ArrivedCall, input: unknown): Promise<string> {
    const { actor: identity, path, type, token, idempotencyKey, signal } = call
    const context: HasDatabase = await createContext()
    const store = context.db?.[authStore]
    if (store === undefined)
      throw new ConfigurationError(
        'internal functions: createContext must return the db of openSqlite() or openPostgres(), ' +
          'or withAuthStore(db, store)',
      )
    // A query changes nothing, so the listener's memory of tokens is enough.
    if (type === 'mutation' && token !== null && !(await consumeToken(databaseOf(store), token)))
      throw new CallRejection('TOKEN_REPLAYED')
    // Step 2, on every call: the session may have ended since the caller's own check.
    const session =
      identity === null ? null : await validateIdentity(identity, { config, sessions: store.sessions })
    const ctx = { ...context, identity, session, user: session?.user ?? null }
    const run = { router, path, type, ctx, getRawInput: async () => input, batchIndex: 0 }
    if (idempotencyKey === null) {
      // The caller may have left, so the function need not start.
      signal.throwIfAborted()
      return runFunction({ ...run, signal })
    }
    if (path.startsWith('sallyport.'))
      throw new ConfigurationError(
        `${path} takes no idempotency key: its response is never stored. Call it without one`,
      )
    const caller = { service: token?.service ?? null, userId: identity?.userId ?? null, now: config.now() }
    const once = { ...call, ...caller, idempotencyKey, onError: (error: unknown) => report(error, path) }
    // Without a signal, because another call with the same key may wait for the result.
    const outcome = await runOnce(databaseOf(store), once, () => runFunction({ ...run, signal: undefined }))
    if (outcome.state === 'done') return outcome.result
    throw new CallRejection(outcome.state === 'conflict' ? 'KEY_REUSED' : 'UNDECIDED')
  }

  /** Never rejects, because the function may have done something by now. */
  async function runFunction(call: Parameters<typeof callTRPCProcedure>[0]): Promise<string> {
    try {
      const data = await callTRPCProcedure(call)
      if (isObject(data) && Symbol.asyncIterator in data)
        throw new TypeError('An internal function returned a stream. Return an array instead')
      const response = encodeResult(data)
      if (new TextEncoder().encode(response).byteLength <= maxResponseBytes) return response
      throw new RangeError(
        `The response exceeds ${maxResponseBytes} bytes. Return less, or raise maxResponseBytes`,
      )
    } catch (error) {
      const safeError = toSafeError(error)
      if (safeError !== null) return encodeError(safeError)
      report(error instanceof TRPCError ? (error.cause ?? error) : error, call.path)
      return encodeError(
        new TRPCError({ code: 'INTERNAL_SERVER_ERROR', message: 'The internal function failed' }),
      )
    }
  }

  return { config, execute }
}

function decodeInput({ body, path, type }: ArrivedCall): unknown {
  const call = parseJson(body)
  const isKnownType = isObject(call) && (call.type === 'query' || call.type === 'mutation')
  if (!isKnownType || typeof call.path !== 'string') throw new CallRejection('CALL_INVALID')
  if (call.path !== path || call.type !== type) throw new CallRejection('TOKEN_INVALID')
  return call.input
}

function databaseOf({ database }: AuthStore): NonNullable<AuthStore['database']>['db'] {
  if (database !== undefined) return database.db
  throw new ConfigurationError(
    'internal functions: mutations need the db of openSqlite() or openPostgres(), which has the tables of ' +
      'service calls',
  )
}
