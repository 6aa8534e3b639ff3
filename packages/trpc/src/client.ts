export {
  type AuthClient,
  AuthClientError,
  type AuthClientOptions,
  createAuthClient,
  type RoutesOf,
} from './client/auth-client.ts'
