export {
  createNextAuth,
  type NextAuth,
  type NextAuthOptions,
  type NextContextOptions,
} from './next/create-next-auth.ts'
export { createProxy } from './next/create-proxy.ts'
export { Hydrated, type HydratedProps } from './next/hydrated.ts'
