import * as z from 'zod/mini'
import type { AuthConfig } from '../../config.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { Fault } from '../../events/failure-code.ts'
import { reportFailure } from '../../events/report-failure.ts'
import { isEndpointError } from '../../protocol/endpoint-error.ts'
import { toErrorResponse } from '../../protocol/responses.ts'
import { type Counted, countAddress, giveBackAttempt } from './attempts.ts'
import { redirectUriOf } from './authorization-url.ts'
import { finish } from './finish.ts'
import { consumeFlow, type Flow, findFlow } from './flow.ts'
import { readPostedName } from './posted-name.ts'
import { prove } from './prove.ts'
import type { Provider } from './providers.ts'
import { resolveTarget, withParameter } from './redirect-target.ts'
import type { Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** A provider adds parameters that we don't know. */
const parameters: z.ZodMiniType<Record<string, string>> = z.record(z.string(), z.string())

/** Returns the callbacks of all providers by name. A browser opens them, and always gets a redirect. */
export function callbacks(settings: Settings): Record<string, Endpoint<object, object, true>> {
  const entries = Object.values(settings.providers).flatMap((provider) => {
    const path = `/callback/${provider.id}` as const
    return provider.responseMode === 'form_post'
      ? [
          [`oauth-form:${provider.id}`, postedCallback(path, provider, settings)] as const,
          [`oauth-callback:${provider.id}`, callback(`${path}/continue`, provider, settings)] as const,
        ]
      : [[`oauth-callback:${provider.id}`, callback(path, provider, settings)] as const]
  })
  return Object.fromEntries(entries)
}

function callback(
  path: `/${string}`,
  provider: Provider,
  settings: Settings,
): Endpoint<object, object, true> {
  return defineEndpoint({
    method: 'GET',
    path,
    caller: 'anyone',
    setsCookies: true,
    input: parameters,
    output: z.object({}),
    async run(input, context) {
      const { config } = context
      let errorTo = defaultTarget(settings, config)
      try {
        await countAddress('callback', context, settings)
        const flow = await consumeFlow({ state: input.state, provider }, context)
        errorTo = flow.errorTo
        const redirectUri = redirectUriOf(provider, config)
        const proof = await prove(new URLSearchParams(input), { provider, flow, redirectUri })
        // Before the second factor, whose absence is an error.
        await giveBackAttempt(attemptsOf(flow, provider), context, settings)
        return { body: {}, ...(await finish(proof, { flow, provider, context, settings })) }
      } catch (error) {
        return failed(error, { errorTo, path, config })
      }
    },
  })
}

/** Returns what a visit was counted as. A posted callback is two requests. */
function attemptsOf({ purpose }: Flow, { responseMode }: Provider): Counted[] {
  const callbacks: Counted[] = responseMode === 'form_post' ? ['callback', 'callback'] : ['callback']
  return purpose === 'sign-in' ? ['start', ...callbacks] : callbacks
}

/**
 * A callback that the provider's page posts (OAuth 2.0 Form Post Response Mode). Browsers send no `Lax`
 * cookies with it, such as the session's, so the browser continues with a GET.
 */
function postedCallback(
  path: `/${string}`,
  provider: Provider,
  settings: Settings,
): Endpoint<object, object, true> {
  return defineEndpoint({
    method: 'POST',
    path,
    caller: 'anyone',
    // The provider's page sends it. The cookie of the visit is checked instead.
    origin: null,
    accepts: 'form',
    setsCookies: true,
    input: parameters,
    output: z.object({}),
    async run({ state, code, error, iss, user }, context) {
      const { config } = context
      try {
        await countAddress('callback', context, settings)
        const flow = await findFlow({ state, provider }, context)
        const personName = readPostedName(user)
        if (personName !== null)
          await context.change(async (trx) => {
            const flows = withOwnTables(trx).updateTable('oauthFlow').set({ personName })
            await flows.where('id', '=', flow.id).execute()
          })
      } catch (cause) {
        return failed(cause, { errorTo: defaultTarget(settings, config), path, config })
      }
      // Never the name and the ID token, which would be in logs and in the history.
      const kept = Object.entries({ state, code, error, iss }).filter(([, value]) => value !== undefined)
      const query = new URLSearchParams(kept.map(([name, value = '']) => [name, value]))
      return { body: {}, redirect: `${redirectUriOf(provider, config)}/continue?${query}` }
    },
  })
}

function defaultTarget({ errorTo, redirects }: Settings, config: AuthConfig): string {
  return resolveTarget(errorTo, { config, redirects }) ?? config.issuer
}

/** Redirects to the page that shows an error: its code, without text of the provider or an unknown error. */
function failed(
  error: unknown,
  { errorTo, path, config }: { errorTo: string; path: string; config: AuthConfig },
) {
  // An invalid response is a rejection for the user, and a failure for the operator.
  const fault = isEndpointError(error) && error.cause instanceof Fault ? error.cause : error
  reportFailure(fault, { path, step: 'endpoint' }, config)
  const { code, challenge } = toErrorResponse(error)
  const url = new URL(withParameter(errorTo, 'error', code))
  // Behind a `#`, which browsers never send.
  if (challenge !== undefined)
    url.hash = `${new URLSearchParams({
      challenge: challenge.token,
      methods: challenge.methods.join(' '),
      expiresIn: String(challenge.expiresIn),
    })}`
  return { body: {}, redirect: url.href }
}
