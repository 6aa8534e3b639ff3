export { createGetPage } from './next/create-get-page.ts'
export { createProxy } from './next/create-proxy.ts'
export {
  createRouteHandlers,
  type RouteHandlerOptions,
  type RouteHandlers,
} from './next/create-route-handlers.ts'
export { Hydrated, type HydratedProps } from './next/hydrated.ts'
