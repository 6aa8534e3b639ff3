import type { OriginRequest } from '@sallyport/core'
import { incoming } from '../support/incoming.ts'
import type { Random } from './random.ts'

/** Returns a request with the token in its cookie, among other cookies, or as a bearer token. */
export function carry(token: string, random: Random): OriginRequest {
  return random.pick([
    () => incoming({ cookie: `service.jwt=${token}` }),
    () => incoming({ cookie: `theme=dark; service.jwt=${token}; service.jwtx=1` }),
    () => incoming({ authorization: `Bearer ${token}` }),
  ])()
}

/** Returns what arrives of the token: a semicolon ends a cookie, and a bearer token has no spaces. */
export function delivered({ header }: OriginRequest): string {
  const [, inCookie] = /service\.jwt=([^;]*)/.exec(header('cookie') ?? '') ?? []
  const [, bearer] = /^Bearer ([^ ]+)$/.exec(header('authorization') ?? '') ?? []
  return inCookie?.replaceAll(/^[ \t]+|[ \t]+$/g, '') ?? bearer ?? ''
}
