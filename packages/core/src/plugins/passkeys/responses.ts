import * as z from 'zod/mini'

/** The result of `startAuthentication()` of `@simplewebauthn/browser`. */
export interface PasskeyAssertion {
  id: string
  rawId: string
  type: 'public-key'
  response: {
    clientDataJSON: string
    authenticatorData: string
    signature: string
    userHandle?: string
  }
}

/** The result of `startRegistration()` of `@simplewebauthn/browser`. */
export interface PasskeyAttestation {
  id: string
  rawId: string
  type: 'public-key'
  response: {
    clientDataJSON: string
    attestationObject: string
    transports?: string[]
  }
}

/** A credential id has at most 1023 bytes (WebAuthn level 3, section 4). */
export const credentialId: z.ZodMiniType<string> = base64url(1364)

const bytes = base64url(32 * 1024)

/** Browsers send more members, which are ignored. */
export const assertion: z.ZodMiniType<PasskeyAssertion> = z.object({
  id: credentialId,
  rawId: credentialId,
  type: z.literal('public-key'),
  response: z.object({
    clientDataJSON: bytes,
    authenticatorData: bytes,
    signature: bytes,
    userHandle: z.exactOptional(base64url(86)),
  }),
})

export const attestation: z.ZodMiniType<PasskeyAttestation> = z.object({
  id: credentialId,
  rawId: credentialId,
  type: z.literal('public-key'),
  response: z.object({
    clientDataJSON: bytes,
    attestationObject: bytes,
    transports: z.exactOptional(z.array(z.string().check(z.maxLength(32))).check(z.maxLength(10))),
  }),
})

function base64url(maxLength: number): z.ZodMiniType<string> {
  return z.string().check(z.regex(/^[A-Za-z0-9_-]+$/), z.maxLength(maxLength))
}
