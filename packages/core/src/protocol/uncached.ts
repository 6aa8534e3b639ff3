/**
 * The option of a `fetch` that nothing caches: Next.js can be told to cache all of them, forever.
 * Cloudflare Workers with a compatibility date before 2024-11-11 throw for it, and cache nothing.
 */
export const UNCACHED: { readonly cache?: 'no-store' } =
  'cache' in Request.prototype ? { cache: 'no-store' } : {}
