import { localRunner } from '@sallyport/trpc/action'
import { internalFunctions } from './internal/functions.ts'

/** By it actions reach the database of this process. Those of the edge have one of their own. */
export const runner = localRunner(internalFunctions)
