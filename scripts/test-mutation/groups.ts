const CORE = 'packages/core'

/** Files that are mutated together, and the tests that can kill their mutants. */
export interface Group {
  readonly mutate: readonly string[]
  readonly tests: readonly string[]
}

/** In the order in which they run. Each takes minutes, so an interrupted run loses little. */
export const GROUPS: Readonly<Record<string, Group>> = {
  'core-request': {
    mutate: [`${CORE}/src/request/{cookie,credentials,foreign-cookie,origin}.ts`],
    tests: [`${CORE}/test/{request/{cookie,credentials,origin},session/session-cookie-proof}.test.ts`],
  },
  'core-jwt': { mutate: [`${CORE}/src/jwt/*.ts`], tests: [`${CORE}/test/jwt/*.test.ts`] },
  'core-session': { mutate: [`${CORE}/src/session/*.ts`], tests: [`${CORE}/test/session/*.test.ts`] },
  'core-keys': {
    mutate: [`${CORE}/src/keys/!(dynamic-jwks).ts`],
    tests: [`${CORE}/test/keys/!(dynamic-jwks).test.ts`],
  },
  'core-jwks': {
    mutate: [`${CORE}/src/keys/dynamic-jwks.ts`],
    tests: [`${CORE}/test/keys/dynamic-jwks.test.ts`],
  },
}
