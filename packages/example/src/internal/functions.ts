import { defineInternalFunctions } from '@sallyport/trpc/action'
import { authConfig } from '../auth.config.ts'
import { db } from '../database.ts'
import { getAuth } from '../get-auth.ts'
import { internalRouter } from './router.ts'

/** The internal functions with their context. `getAuth` provides the auth endpoints to the edge. */
export const internalFunctions = defineInternalFunctions({
  router: internalRouter,
  createContext: () => ({ db }),
  config: authConfig,
  getAuth,
})
