import type { ComponentProps } from 'react'

type FormProps = Omit<ComponentProps<'form'>, 'action' | 'onSubmit'> & {
  readonly onFilled: (values: FormData, form: HTMLFormElement | null) => void
}

/**
 * A form that keeps what was filled in until someone resets it. `action` alone would clear it, also where the server rejects; but a form
 * that is sent before the page is hydrated, React keeps for the action.
 */
export function Form({ onFilled, ...form }: FormProps) {
  return (
    <form
      className="stack"
      {...form}
      action={(values) => onFilled(values, null)}
      onSubmit={(event) => {
        event.preventDefault()
        onFilled(new FormData(event.currentTarget), event.currentTarget)
      }}
    />
  )
}
