export {
  type AuthClient,
  type AuthClientApi,
  type AuthClientOptions,
  type AuthFetch,
  createAuthClient,
  type RoutesOf,
} from './client/auth-client.ts'
export { AuthClientError } from './client/auth-client-error.ts'
export { openPopup, type PopupPages } from './client/open-popup.ts'
export type { AuthState, AuthStatus } from './client/session-state.ts'
export { type BearerStorage, bearer, type OpenTransport } from './client/transport.ts'
export { authAwareRetry } from './links/auth-aware-retry.ts'
export { authLink } from './links/auth-link.ts'
export { type BetterAuthClient, betterAuthSession } from './links/better-auth-session.ts'
export type { LinkClient } from './links/link-client.ts'
export { type SubscriptionLinkOptions, subscriptionLink } from './links/subscription-link.ts'
export type { WebSocketLinkOptions } from './links/user-socket.ts'
export { webSocketLink } from './links/web-socket-link.ts'
