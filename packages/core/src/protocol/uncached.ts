/**
 * The option that keeps a `fetch` out of caches: Next.js can be configured to cache each one forever.
 * Cloudflare Workers with a compatibility date before 2024-11-11 throw for it, and cache nothing.
 */
export const UNCACHED: { readonly cache?: 'no-store' } =
  'cache' in Request.prototype ? { cache: 'no-store' } : {}
