import type { TestAuth } from '@sallyport/core/testing'
import {
  type AuthClientError,
  type AuthState,
  authLink,
  createAuthClient,
  subscriptionLink,
  webSocketLink,
} from '@sallyport/trpc/client'
import { createTRPCClient, httpLink, splitLink, TRPCClientError } from '@trpc/client'
import type { AppRouter } from '../../support/router.ts'

/** The parts of a state that tests check, with the reason of its error. */
export interface SeenState extends Pick<AuthState, 'status' | 'userChanges' | 'userId'> {
  readonly error: string | null
}

/** A call's result, and the page's user at that moment. */
export interface Answer {
  /** The resolver's result, or null. */
  readonly data: string | null
  /** The reason of the failure, or null. */
  readonly reason: string | null
  /** The signed-in user when the response was delivered. */
  readonly deliveredTo: string | null
}

/** The state of a subscription. */
export interface Watched {
  readonly data: readonly string[]
  /** Null while it is open. */
  readonly end: string | null
}

const client = createAuthClient<TestAuth['api']>()
const socketUrl = `ws://${location.host}/trpc`
const trpc = createTRPCClient<AppRouter>({
  links: [
    authLink(client),
    splitLink({
      condition: ({ type }) => type === 'subscription',
      true: splitLink({
        condition: ({ context }) => context.transport === 'events',
        true: subscriptionLink(client, { url: '/trpc' }),
        false: webSocketLink(client, { url: socketUrl }),
      }),
      false: httpLink({ url: '/trpc', fetch: client.fetch }),
    }),
  ],
})

const seen: SeenState[] = [seenState()]
const pending: Promise<Answer>[] = []
const watches: (() => Watched)[] = []

function seenState(): SeenState {
  const { status, userChanges, userId, error } = client.getState()
  return { status, userChanges, userId, error: error?.code ?? null }
}

/** Loads the session, and shows its state from now on. */
export function start(): void {
  client.subscribe(() => {
    seen.push(seenState())
    const { status, error } = client.getState()
    document.body.textContent = error === null ? status : `${status}: ${error.message}`
  })
}

/** Every state so far, in order. */
export function states(): SeenState[] {
  return seen
}

export function state(): SeenState {
  return seenState()
}

/**
 * Each query loads the session. Browsers don't send a second request of the same URL before the first is
 * done.
 */
const queries = {
  me: () => trpc.me.query(),
  doublyGuarded: () => trpc.doublyGuarded.query(),
  slow: () => trpc.slow.query(),
} as const

/** Queries the signed-in user. */
export function ask(query: keyof typeof queries = 'me'): Promise<Answer> {
  return answerOf(queries[query]())
}

/** Starts {@link ask} without waiting for the response. */
export function beginAsking(query: keyof typeof queries = 'me'): void {
  pending.push(ask(query))
}

/** Runs a mutation. */
export function write(): Promise<Answer> {
  return answerOf(trpc.write.mutate())
}

/** Starts {@link write} without waiting for the response. */
export function beginWriting(): void {
  pending.push(write())
}

/** Starts a refresh without waiting for it. */
export function beginRefresh(): void {
  void client.refresh()
}

/** Returns the responses to the calls that were started since the last time. */
export function answers(): Promise<Answer[]> {
  return Promise.all(pending.splice(0))
}

/** Starts a subscription. */
export function watch(transport: 'socket' | 'events'): void {
  const data: string[] = []
  let end: string | null = null
  trpc.clock.subscribe(undefined, {
    context: { transport },
    onData: (value) => void data.push(value),
    onError: (error) => {
      end = reasonOf(error)
    },
    onComplete: () => {
      end ??= 'completed'
    },
    onStopped: () => {
      end ??= 'stopped'
    },
  })
  watches.push(() => ({ data, end }))
}

/** Returns the state of the subscriptions, in the order of their start. */
export function watchedSoFar(): Watched[] {
  return watches.map((watched) => watched())
}

export async function signIn(email: string, password: string): Promise<string | null> {
  return reasonOfCall(client.api.signInEmail({ email, password }))
}

/** Starts to sign in, and then to load a page. */
export function beginSignIn(email: string, password: string, redirectTo: string): void {
  void client.api.signInEmail({ email, password, redirectTo })
}

/** Signs in, or resolves to the reason of the rejection. */
export function signInTo(redirectTo: string): Promise<string | null> {
  return reasonOfCall(client.api.signInEmail({ email: 'ada@example.com', password: 'any', redirectTo }))
}

/** Starts to sign out, and then to load a page. */
export function beginSignOutTo(redirectTo: string): void {
  void client.api.signOut({ redirectTo })
}

/** Signs in without our client. */
export async function signInByHand(email: string, password: string): Promise<number> {
  const { status } = await fetch('/api/auth/sign-in/email', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  return status
}

export async function revokeOtherSessions(): Promise<string | null> {
  return reasonOfCall(client.api.revokeOtherSessions())
}

/** Starts to sign out without waiting for it. */
export function beginSignOut(): void {
  void client.signOut()
}

async function answerOf(call: Promise<string>): Promise<Answer> {
  try {
    return { data: await call, reason: null, deliveredTo: client.getState().userId }
  } catch (error) {
    return { data: null, reason: reasonOf(error), deliveredTo: client.getState().userId }
  }
}

/** Returns the reason of a rejection, or null if the call succeeded. */
async function reasonOfCall(call: Promise<unknown>): Promise<string | null> {
  try {
    await call
    return null
  } catch (error) {
    return isAuthClientError(error) ? error.code : String(error)
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof TRPCClientError)) return isAuthClientError(error) ? error.code : String(error)
  const reason: unknown = error.data?.auth?.reason
  if (typeof reason === 'string') return reason
  return isAuthClientError(error.cause) ? error.cause.code : error.message
}

function isAuthClientError(error: unknown): error is AuthClientError {
  return error instanceof Error && error.name === 'AuthClientError'
}
