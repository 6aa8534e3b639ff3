import { defineAuthConfig } from '@sallyport/core'
import { env } from './env.ts'
import { jwks } from './keys/public-keys.ts'
import { publishAuthEvent } from './live.ts'

/** The auth configuration, without plugins: every module may import it. */
export const authConfig = defineAuthConfig({
  baseUrl: env.BASE_URL,
  jwks,
  bearer: true,
  onEvent: publishAuthEvent,
})
