import { Text } from '@radix-ui/themes'
import { type ComponentProps, useId } from 'react'

type SelectFieldProps = Omit<ComponentProps<'select'>, 'id' | 'className'> & { readonly label: string }

/**
 * A native select with its label, in the style of Radix Themes. Theirs adds inline styles, which the
 * Content-Security-Policy forbids.
 */
export function SelectField({ label, ...select }: SelectFieldProps) {
  const id = useId()
  return (
    <div className="field">
      <Text as="label" size="2" weight="medium" htmlFor={id}>
        {label}
      </Text>
      <select id={id} className="select rt-SelectTrigger rt-r-size-2 rt-variant-surface" {...select} />
    </div>
  )
}
