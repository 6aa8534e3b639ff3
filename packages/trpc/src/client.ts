export {
  type AuthClient,
  type AuthClientApi,
  type AuthClientOptions,
  type AuthFetch,
  createAuthClient,
  type RoutesOf,
} from './client/auth-client.ts'
export { AuthClientError } from './client/auth-client-error.ts'
export type { AuthState, AuthStatus } from './client/auth-state.ts'
export { type BearerStorage, bearer } from './client/bearer.ts'
export type { OpenTransport } from './client/transport.ts'
