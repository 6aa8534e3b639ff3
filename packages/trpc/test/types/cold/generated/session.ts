// Written by "sallyport generate": change the auth definition and run that again.

/** What it is nobody knows without the auth definition, so it is anything. */
type Unknown = ReturnType<typeof JSON.parse>

const reason = 'auth.ts does not exist'

/** Throws, as there is no auth definition. */
export async function getSession(_ctx: object): Promise<Session> {
  throw missing('getSession')
}

export const sessionMiddleware = guard('sessionMiddleware')
export const optionalSessionMiddleware = guard('optionalSessionMiddleware')
export const sensitiveSessionMiddleware = guard('sensitiveSessionMiddleware')
export const createSensitiveSessionMiddleware = (_options: { readonly maxAge: number }) =>
  guard('createSensitiveSessionMiddleware')

export type Session = Unknown
export type User = Unknown
export type SessionContext = Unknown

/** A middleware that lets nobody in. */
function guard(name: string) {
  const refuse = async (_call: object): Promise<never> => {
    throw missing(name)
  }
  return Object.assign(refuse, { [Symbol.for('sallyport.guard')]: true })
}

/** Says what is missing, as the `ConfigurationError` of @sallyport/core does. */
function missing(name: string): Error {
  const cure = 'its default export has to be what defineAuth() returns; then run "sallyport generate"'
  const error = new Error(`${name}: ${reason}: ${cure}`)
  return Object.assign(error, {
    name: 'ConfigurationError',
    code: 'DEFINITION_MISSING',
    [Symbol.for('sallyport.ConfigurationError')]: true,
  })
}
