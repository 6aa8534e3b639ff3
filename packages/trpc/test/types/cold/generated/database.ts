// Written by "sallyport generate": change the auth definition and run that again.

/** What it is nobody knows without the auth definition, so it is anything. */
type Unknown = ReturnType<typeof JSON.parse>

/** Without an auth definition there are no columns besides ours. */
export const authColumns = {
  user: {},
  session: {},
}

export type AuthTables = Unknown
