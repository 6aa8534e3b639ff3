import { Field } from './field.tsx'

/** A field for a code of an authenticator app or an email, or a recovery code. */
export function CodeField({
  hint = 'A code from your app, or a recovery code.',
  autoFocus = false,
}: {
  readonly hint?: string
  /** Set it if the field takes the place of the button that the user pressed, which had the focus. */
  readonly autoFocus?: boolean
}) {
  return (
    <Field label="Code" name="code" autoComplete="one-time-code" hint={hint} autoFocus={autoFocus} required />
  )
}
