/** A mutant that behaves like the original, so no test can kill it. */
export interface Equivalent {
  /** Relative to `packages`. */
  readonly file: string
  /** The line on which the mutant starts, and the line after the mutation, as the report prints them. */
  readonly line: string
  readonly mutant: string
  readonly reason: string
}

/** An entry that matches no surviving mutant fails the run. */
export const EQUIVALENT: readonly Equivalent[] = [
  {
    file: 'core/src/request/cookie.ts',
    line: 'isEqual: (first: string, second: string) => boolean = () => false,',
    mutant: 'isEqual: (first: string, second: string) => boolean = () => undefined,',
    reason: 'Both are falsy.',
  },
  {
    file: 'core/src/request/cookie.ts',
    line: 'for (let start = 0; start < header.length; ) {',
    mutant: 'for (let start = 0; start <= header.length; ) {',
    reason: 'No name starts at the end of the header.',
  },
  {
    file: 'core/src/request/cookie.ts',
    line: "const scope = { ...(domain !== undefined && { domain }), path: '/' }",
    mutant: "const scope = { ...(true && { domain }), path: '/' }",
    reason: 'The cookie has no domain if it is undefined. The check is for the compiler.',
  },
  {
    file: 'core/src/request/credentials.ts',
    line: "return /^Bearer +([^ ]+)$/i.exec(header('authorization') ?? '')?.[1] ?? null",
    mutant: 'return /^Bearer +([^ ]+)$/i.exec(header(\'authorization\') ?? "Stryker was here!")?.[1] ?? null',
    reason: 'Neither text matches.',
  },
  {
    file: 'core/src/jwt/identity-cache.ts',
    line: 'if (!oldest.done) identities.delete(oldest.value)',
    mutant: 'if (true) identities.delete(oldest.value)',
    reason: 'An empty map has no entry to delete. The check is for the compiler.',
  },
  ...['header', 'payload', 'signature'].map((segment) => ({
    file: 'core/src/jwt/verify-jws.ts',
    line: "const [header = '', payload = '', signature = '', ...more] = token.split('.', 4)",
    mutant: "const [header = '', payload = '', signature = '', ...more] = token.split('.', 4)".replace(
      `${segment} = ''`,
      `${segment} = "Stryker was here!"`,
    ),
    reason: 'Neither an empty segment nor this one is base64url.',
  })),
  {
    file: 'core/src/request/origin.ts',
    line: 'const listed = origin !== null && config.allowedOrigins.has(origin)',
    mutant: 'const listed = true && config.allowedOrigins.has(origin)',
    reason: 'No list contains null. The check is for the compiler.',
  },
]
