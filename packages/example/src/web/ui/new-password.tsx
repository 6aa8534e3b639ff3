import { Field } from './field.tsx'

/** A field for a new password. The server checks the same limits and rejects common passwords. */
export function NewPassword({ label, name }: { readonly label: string; readonly name: string }) {
  return (
    <Field
      label={label}
      name={name}
      type="password"
      autoComplete="new-password"
      minLength={8}
      maxLength={256}
      hint="8 to 256 characters. Common passwords are rejected."
      required
    />
  )
}
