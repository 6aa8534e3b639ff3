import { Field } from './field.tsx'

/** A field for a code of an authenticator app or an email, or a recovery code. */
export function CodeField({
  hint = 'A code from your app, or a recovery code.',
}: {
  readonly hint?: string
}) {
  return <Field label="Code" name="code" autoComplete="one-time-code" hint={hint} required />
}
