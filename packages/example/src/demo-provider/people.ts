/** The people with an account at the demo provider, by the `sub` of their ID tokens. */
export const PEOPLE: Readonly<Record<string, { readonly name: string; readonly email: string }>> = {
  alan: { name: 'Alan', email: 'alan@example.com' },
  barbara: { name: 'Barbara', email: 'barbara@example.com' },
}
