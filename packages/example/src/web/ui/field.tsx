import { Text, TextField } from '@radix-ui/themes'
import { type ComponentProps, useId } from 'react'

type FieldProps = Omit<ComponentProps<typeof TextField.Root>, 'id'> & {
  readonly label: string
  readonly hint?: string
}

/** A text field with its label, and what helps to fill it in. */
export function Field({ label, hint, ...field }: FieldProps) {
  const id = useId()
  return (
    <div className="field">
      <Text as="label" size="2" weight="medium" htmlFor={id}>
        {label}
      </Text>
      <TextField.Root id={id} {...field} {...(hint && { 'aria-describedby': `${id}-hint` })} />
      {hint && (
        <Text as="p" size="1" color="gray" id={`${id}-hint`}>
          {hint}
        </Text>
      )}
    </div>
  )
}
