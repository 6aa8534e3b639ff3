import { httpRunner } from '@sallyport/trpc/action'
import { Agent, fetch } from 'undici'
import { authConfig } from './auth.config.ts'
import { env } from './env.ts'
import { loadServiceSigningKeys } from './keys/service-keys.ts'

/** The connections to the backend. */
export const backend = new Agent({ connect: { socketPath: env.INTERNAL_SOCKET } })

/** Runs the internal functions of actions in the backend. */
export const runner = httpRunner({
  // Only the path matters: the connection goes to the socket.
  url: 'http://localhost/internal',
  service: { name: 'edge', signingKeys: await loadServiceSigningKeys() },
  config: authConfig,
  fetch: (url, init) => fetch(url, { ...init, dispatcher: backend }),
})
