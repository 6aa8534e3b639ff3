import type { HydrationState } from '@sallyport/trpc/ssr'
import type { DehydratedState } from '@tanstack/react-query'
import type { FormResult } from './form-result.ts'

/** The data that a rendered page passes to its script. */
export interface Rendered {
  readonly state: HydrationState
  readonly queries: DehydratedState
  /** The server's clock, in milliseconds. */
  readonly now: number
  readonly form: FormResult | null
}
