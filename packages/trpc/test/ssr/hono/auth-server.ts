import type { TestAuth } from '@sallyport/core/testing'

/** Stands for the auth server of an app: a page imports its type alone. */
export declare const auth: TestAuth
