export type { AuthErrorData, EndpointErrorData } from '@sallyport/core/internal/protocol'
export { assertGuarded } from './server/assert-guarded.ts'
export type { AuthHandle } from './server/auth-handle.ts'
export {
  type BoundSession,
  bindSession,
  type GuardSource,
  type OptionalSessionContextOf,
  type SensitiveSessionContextOf,
  type SessionContextOf,
  type SessionSource,
} from './server/bind-session.ts'
export {
  type ActionContext,
  type AuthContext,
  type AuthContextFactory,
  type AuthContextOptions,
  createAuthContext,
  type DatabaseContext,
  type HttpContextOptions,
  type RequestContextOptions,
  type StoreContext,
  type WsContextOptions,
} from './server/context.ts'
export {
  createHandler,
  type Handler,
  type HandlerContextOptions,
  type HandlerOptions,
} from './server/create-handler.ts'
export {
  type DrainedNodeServer,
  type DrainedServer,
  type DrainedSockets,
  type DrainOptions,
  drain,
} from './server/drain.ts'
export { authErrorData, authErrorMiddleware, authResponseMeta, endpointErrorData } from './server/errors.ts'
export { getSession } from './server/get-session.ts'
export type { AuthorizedHandle, SessionContext } from './server/guard.ts'
export { limitBody } from './server/limit-body.ts'
export type { Middleware } from './server/middleware.ts'
export { type RateLimitContext, type RateLimitOptions, rateLimit } from './server/rate-limit.ts'
export type { OrganizationContext, SessionCall } from './server/require-condition.ts'
export type { PermissionGuards } from './server/require-permission.ts'
export { requireOrganizationRole, requireRole } from './server/require-role.ts'
export type { Transport } from './server/sent-request.ts'
export {
  createSensitiveSessionMiddleware,
  type OptionalSessionContext,
  optionalSessionMiddleware,
  type SensitiveSessionContext,
  type SensitiveSessionOptions,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from './server/session-middleware.ts'
export type { WebSocketLimits } from './server/socket-limits.ts'
export type { TransactionContext, TransactionOf } from './server/transaction.ts'
export { authHandlerOptions, type WebSocketOptions, webSocketOptions } from './server/web-socket-options.ts'
