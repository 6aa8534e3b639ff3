import * as z from 'zod/mini'

export interface PasskeyDescriptor {
  id: string
  type: 'public-key'
  transports: string[]
}

/** The `optionsJSON` of `startAuthentication()` of `@simplewebauthn/browser`. */
export interface PasskeyRequestOptions {
  challenge: string
  rpId: string
  /** In milliseconds. */
  timeout: number
  userVerification: 'required'
  /** The passkeys that can respond. Without it, every passkey of this `rpId` can. */
  allowCredentials?: PasskeyDescriptor[]
}

/** The `optionsJSON` of `startRegistration()` of `@simplewebauthn/browser`. */
export interface PasskeyCreationOptions {
  challenge: string
  rp: { id: string; name: string }
  user: { id: string; name: string; displayName: string }
  pubKeyCredParams: { alg: number; type: 'public-key' }[]
  /** In milliseconds. */
  timeout: number
  /** The user's passkeys, whose authenticators don't create another one. */
  excludeCredentials: PasskeyDescriptor[]
  authenticatorSelection: { residentKey: 'required'; requireResidentKey: true; userVerification: 'required' }
  attestation: 'none'
}

const descriptors = z.array(
  z.object({ id: z.string(), type: z.literal('public-key'), transports: z.array(z.string()) }),
)

export const requestOptions: z.ZodMiniType<PasskeyRequestOptions> = z.object({
  challenge: z.string(),
  rpId: z.string(),
  timeout: z.number(),
  userVerification: z.literal('required'),
  allowCredentials: z.exactOptional(descriptors),
})

export const creationOptions: z.ZodMiniType<PasskeyCreationOptions> = z.object({
  challenge: z.string(),
  rp: z.object({ id: z.string(), name: z.string() }),
  user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
  pubKeyCredParams: z.array(z.object({ alg: z.number(), type: z.literal('public-key') })),
  timeout: z.number(),
  excludeCredentials: descriptors,
  authenticatorSelection: z.object({
    residentKey: z.literal('required'),
    requireResidentKey: z.literal(true),
    userVerification: z.literal('required'),
  }),
  attestation: z.literal('none'),
})
