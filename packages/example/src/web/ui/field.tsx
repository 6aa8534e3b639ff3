import { Text, TextField } from '@radix-ui/themes'
import { type ComponentProps, useId } from 'react'

type FieldProps = Omit<ComponentProps<typeof TextField.Root>, 'id' | 'defaultValue'> & {
  readonly label: string
  readonly hint?: string
  readonly defaultValue?: string | undefined
}

/** A text field with its label and hint. */
export function Field({ label, hint, defaultValue = '', ...field }: FieldProps) {
  const id = useId()
  return (
    <div className="field">
      <Text as="label" size="2" weight="medium" htmlFor={id}>
        {label}
      </Text>
      <TextField.Root
        id={id}
        defaultValue={defaultValue}
        {...field}
        {...(hint && { 'aria-describedby': `${id}-hint` })}
      />
      {hint && (
        <Text as="p" size="1" color="gray" id={`${id}-hint`}>
          {hint}
        </Text>
      )}
    </div>
  )
}
