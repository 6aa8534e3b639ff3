import { localRunner } from '@sallyport/trpc/action'
import { internalFunctions } from './internal/functions.ts'

/** Runs the internal functions of actions in this process. The edge has its own runner. */
export const runner = localRunner(internalFunctions)
