import type { TestAuth } from '@sallyport/core/testing'
import type { DatabaseContext } from '@sallyport/trpc'

/** The types of an app's `context.ts`. */
export declare const auth: TestAuth
export type Context = DatabaseContext
