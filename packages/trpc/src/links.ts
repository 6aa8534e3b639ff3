export { authAwareRetry, authAwareRetryDelay } from './links/auth-aware-retry.ts'
export { authLink } from './links/auth-link.ts'
export { type SubscriptionLinkOptions, subscriptionLink } from './links/subscription-link.ts'
export { type WebSocketLinkOptions, webSocketLink } from './links/web-socket-link.ts'
