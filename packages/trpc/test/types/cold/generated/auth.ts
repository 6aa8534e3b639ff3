// Written by "sallyport generate": change the auth definition and run that again.

/** What it is nobody knows without the auth definition, so it is anything. */
type Unknown = ReturnType<typeof JSON.parse>

const reason = 'auth.ts does not exist'

/** Throws, as there is no auth definition. */
export function getAuth(_ctx: object): Auth {
  throw missing('getAuth')
}

export type Auth = Unknown

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
