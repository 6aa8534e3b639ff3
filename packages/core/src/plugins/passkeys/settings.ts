import type { AuthConfig } from '../../config.ts'
import { rejections } from '../../protocol/endpoint-error.ts'
import { ConfigurationError } from '../../protocol/errors.ts'
import type { RateLimit } from '../../rate-limit/rate-limit.ts'
import type { EmailUser } from '../email-user.ts'

export const PASSKEY_ERRORS = {
  PASSKEY_INVALID: { status: 400, message: 'This passkey was not accepted. Try another way.' },
  PASSKEY_TIMEOUT: { status: 400, message: 'This took too long. Try again.' },
  PASSKEY_NOT_FOUND: { status: 404, message: 'Passkey not found' },
  TOO_MANY_PASSKEYS: { status: 409, message: 'You have too many passkeys. Remove one first.' },
} as const

export const passkeyError: ReturnType<typeof rejections<typeof PASSKEY_ERRORS>> = rejections(PASSKEY_ERRORS)

/** EdDSA, ES256, and RS256 (COSE), which every supported Node version verifies. */
export const ALGORITHMS: number[] = [-8, -7, -257]

/** Passkeys of a user. */
export const MAX_PASSKEYS = 20

/** The rate limits of `passkeys()`. */
export interface PasskeyLimits {
  /** Options for the browser, per user and network, or per address or IPv6 /64. @default 300 in 15 minutes */
  readonly options: RateLimit
  /**
   * Sign-ins per address or IPv6 /64; ten times that per /48. Successful ones don't use it up.
   * @default 100 in 15 minutes
   */
  readonly address: RateLimit
  /**
   * Responses of passkeys per signed-in user and network. Accepted ones don't use it up.
   * @default 20 in 15 minutes
   */
  readonly account: RateLimit
}

export const DEFAULT_LIMITS: PasskeyLimits = {
  options: { points: 300, duration: 15 * 60 },
  address: { points: 100, duration: 15 * 60 },
  account: { points: 20, duration: 15 * 60 },
}

/** Reports a change of passkeys, in case someone else made it. */
export interface PasskeyEmail {
  readonly kind: 'passkey-added' | 'passkey-removed'
  readonly to: string
  readonly user: EmailUser
  /** `name` is what the user called it: escape it. */
  readonly passkey: { readonly name: string }
}

/** The options of `passkeys()`. */
export interface PasskeysOptions {
  /** The app's name, which some browsers show. @default `rpId` */
  readonly appName?: string
  /**
   * The domain that passkeys belong to: the host of `baseUrl`, or a parent domain whose hosts share them. If
   * you change it, all passkeys stop working. @default the host of `baseUrl`
   */
  readonly rpId?: string
  /**
   * More origins whose pages may use the passkeys, such as `https://app.example.com`, or Android apps as
   * `android:apk-key-hash:…`. An origin outside of `rpId` must be in `/.well-known/webauthn`.
   * @default only the origin of `baseUrl`
   */
  readonly origins?: readonly string[]
  /**
   * Whether a user who has a passkey must also use one after a password or another sign-in. A user whose only
   * passkey is on another device then can't sign in. Without it, passkeys are a way to sign in, and complete
   * sign-ins for which another factor is required. @default false
   */
  readonly requiredAtSignIn?: boolean
  /** Sends the notices. @default none are sent */
  readonly sendEmail?: (email: PasskeyEmail) => Promise<unknown>
  readonly limits?: Partial<PasskeyLimits>
}

export interface Settings extends Pick<PasskeysOptions, 'appName' | 'rpId' | 'sendEmail'> {
  readonly origins: readonly string[]
  readonly requiredAtSignIn: boolean
  readonly limits: PasskeyLimits
}

/** Returns the relying party (WebAuthn level 3, section 4): the domain of the passkeys, and its origins. */
export function relyingPartyOf(
  { issuer }: Pick<AuthConfig, 'issuer'>,
  { appName, rpId = new URL(issuer).hostname, origins }: Settings,
): { id: string; name: string; origins: string[] } {
  return { id: rpId, name: appName ?? rpId, origins: [issuer, ...origins] }
}

/** @throws ConfigurationError if `rpId` isn't a domain, or a text of `origins` isn't an origin */
export function checkDomains({ rpId, origins = [] }: PasskeysOptions): void {
  if (rpId !== undefined && URL.parse(`https://${rpId}`)?.hostname !== rpId)
    throw new ConfigurationError(`passkeys.rpId: ${rpId} is not a domain. Write it like example.com.`)
  for (const origin of origins)
    if (URL.parse(origin)?.origin !== origin && !/^android:apk-key-hash:[\w-]+$/.test(origin))
      throw new ConfigurationError(
        `passkeys.origins: ${origin} is not an origin. Write it like https://app.example.com.`,
      )
}
