import * as z from 'zod'
import type { PublicKeys } from '../keys/key-ring.ts'
import { ENDPOINTS } from '../protocol.ts'
import { defineEndpoint, type Endpoint } from './endpoint.ts'
import { anyQuery } from './plain-schemas.ts'

/** Returns the public keys, for verifiers with a dynamic JWKS (RFC 7517 section 5). */
export const jwks: Endpoint<object, PublicKeys, false> = defineEndpoint({
  ...ENDPOINTS.jwks,
  origin: null,
  caller: 'anyone',
  input: anyQuery,
  // `publicKeys` has already removed the private members.
  output: z.custom<PublicKeys>(),
  run: async (_input, { signingKeys }) => ({ body: signingKeys.publicJwks }),
})
