/**
 * Calls the endpoints of an auth definition, for `@sallyport/trpc`. Not for apps: it changes in any release.
 * @internal
 * @module
 */

export { columnsOf } from '../database/schema/columns.ts'
export { toApiResult } from '../endpoints/api.ts'
export { bindEndpoints, endpointsOf } from '../endpoints/bind-endpoints.ts'
export { createSigningKey } from '../keys/signing-keys.ts'
