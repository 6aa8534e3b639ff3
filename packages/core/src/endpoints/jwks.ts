import * as z from 'zod'
import { ENDPOINT_PATHS } from '../protocol.ts'
import { defineEndpoint, type Endpoint } from './endpoint.ts'

/** The public keys, for verifiers with a dynamic JWKS (RFC 7517 section 5). */
export const jwks: Endpoint = defineEndpoint({
  method: 'GET',
  path: ENDPOINT_PATHS.jwks,
  origin: null,
  caller: 'anyone',
  input: z.undefined(),
  run: async (_input, { signingKeys }) => ({ body: signingKeys.publicJwks }),
})
