import type { DatabaseContext } from '@sallyport/trpc'

/** Stands for the context of an app. */
export type Context = DatabaseContext
