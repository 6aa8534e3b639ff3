export {
  type AuthClient,
  AuthClientError,
  type AuthClientOptions,
  createAuthClient,
} from './client/auth-client.ts'
