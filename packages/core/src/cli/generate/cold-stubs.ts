import type { GeneratedFiles } from './generated-files.ts'
import { HEADER, quote } from './generated-text.ts'

/**
 * The generated files of an app without an auth definition: the same names, nothing is imported, not even a type, and whatever is called
 * throws an error that says what is missing. Importing them never throws.
 *
 * @param missing what is missing, such as `src/auth.ts does not exist`
 */
export function coldStubs(missing: string): GeneratedFiles {
  const refusal = `
/** Says what is missing, as the \`ConfigurationError\` of @sallyport/core does. */
function missing(name: string): Error {
  const cure = 'its default export has to be what defineAuth() returns; then run "sallyport generate"'
  const error = new Error(\`\${name}: \${reason}: \${cure}\`)
  return Object.assign(error, {
    name: 'ConfigurationError',
    code: 'DEFINITION_MISSING',
    [Symbol.for('sallyport.ConfigurationError')]: true,
  })
}
`
  const reason = `const reason = ${quote(missing)}\n`
  return {
    'auth.ts': `${HEADER}${UNKNOWN}
${reason}
/** Throws, as there is no auth definition. */
export function getAuth(_ctx: object): Auth {
  throw missing('getAuth')
}

export type Auth = Unknown
${refusal}`,
    'session.ts': `${HEADER}${UNKNOWN}
${reason}
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
${refusal}`,
    'database.ts': `${HEADER}${UNKNOWN}
/** Without an auth definition there are no columns besides ours. */
export const authColumns = {
  user: {},
  session: {},
}

export type AuthTables = Unknown
`,
  }
}

/** `any`, so that what uses the names compiles. */
const UNKNOWN = `
/** What it is nobody knows without the auth definition, so it is anything. */
type Unknown = ReturnType<typeof JSON.parse>
`
