import type { OauthOptions } from '@sallyport/core/plugins/oauth'
import { env, hasDemoUsers } from '../env.ts'

/** The pages of the demo provider are below this path of the app. */
export const PROVIDER_PATH = '/demo-provider'

/** How the app signs in at the demo provider. Both are in one process, which creates their secret. */
export const demo = {
  issuer: `${env.BASE_URL}${PROVIDER_PATH}`,
  clientId: 'control-room',
  clientSecret: crypto.randomUUID(),
  // Also asks visitors who have a session at the provider, so they can choose another person.
  parameters: { prompt: 'login' },
}

/** The providers of `oauth()`. None in production: the demo provider asks for no password. */
export const providers: OauthOptions['providers'] = hasDemoUsers ? { demo } : {}
