import { Field } from './field.tsx'

/** A password that the user makes up. The server has the same limits, and a list of what is too common. */
export function NewPassword({ label, name }: { readonly label: string; readonly name: string }) {
  return (
    <Field
      label={label}
      name={name}
      type="password"
      autoComplete="new-password"
      minLength={8}
      maxLength={256}
      hint="8 to 256 characters, and none of the most common ones."
      required
    />
  )
}
