import { authenticate, defineAuthConfig, dynamicJwks, sessionsOf, staticJwks } from '@sallyport/core'

/** The imports of an app that runs both steps, with either kind of key set. */
export const bothSteps = { authenticate, defineAuthConfig, sessionsOf, dynamicJwks, staticJwks }
