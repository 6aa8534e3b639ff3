<<<<<<< HEAD
/** The people with an account at the demo provider, by the `sub` of their ID tokens. None has a password. */
=======
/** The people with an account at the demo provider, by the `sub` of their ID tokens. */
>>>>>>> demo
export const PEOPLE: Readonly<Record<string, { readonly name: string; readonly email: string }>> = {
  alan: { name: 'Alan', email: 'alan@example.com' },
  barbara: { name: 'Barbara', email: 'barbara@example.com' },
}
