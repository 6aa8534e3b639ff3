import { Field } from './field.tsx'
import { NewPassword } from './new-password.tsx'

interface AccountFieldsProps {
  /** What the user has entered before. */
  readonly values?: Readonly<Record<string, string>> | undefined
}

/** The fields of a new account. */
export function AccountFields({ values }: AccountFieldsProps) {
  return (
    <>
      <Field
        label="Name"
        name="name"
        autoComplete="name"
        maxLength={100}
        defaultValue={values?.name}
        required
      />
      <Field
        label="Email"
        name="email"
        type="email"
        autoComplete="username"
        defaultValue={values?.email}
        required
      />
      <NewPassword label="Password" name="password" />
    </>
  )
}

/** Returns the values of {@link AccountFields}. */
export const readAccount = (form: FormData) => ({
  name: String(form.get('name')),
  email: String(form.get('email')),
  password: String(form.get('password')),
})
