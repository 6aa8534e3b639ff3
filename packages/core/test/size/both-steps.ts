import { authenticate, defineAuthConfig, dynamicJwks, sessionsOf, staticJwks } from '@sallyport/core'

/** What an app imports that lets requests through both gates, with either kind of key set. */
export const bothSteps = { authenticate, defineAuthConfig, sessionsOf, dynamicJwks, staticJwks }
