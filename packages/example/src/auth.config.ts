import { defineAuthConfig } from '@sallyport/core'
import { env } from './env.ts'
import { jwks } from './keys/public-keys.ts'
import { tellEvent } from './live.ts'

/** The light half: what every module may import. */
export const authConfig = defineAuthConfig({ baseUrl: env.BASE_URL, jwks, bearer: true, onEvent: tellEvent })
