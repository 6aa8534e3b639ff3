import type { ComponentProps } from 'react'

type FormProps = Omit<ComponentProps<'form'>, 'action' | 'onSubmit'> & {
  readonly onFilled: (values: FormData, form: HTMLFormElement | null) => void
  /** Where a browser without JavaScript sends the form. */
  readonly postTo?: string
}

/** A form that keeps its values when the server rejects them; React would reset it after an `action`. */
export function Form({ onFilled, postTo, ...form }: FormProps) {
  const target =
    postTo === undefined
      ? // If the user submits before hydration, React replays the action.
        { action: (values: FormData) => onFilled(values, null) }
      : ({ action: postTo, method: 'post' } as const)
  return (
    <form
      className="stack"
      {...form}
      {...target}
      onSubmit={(event) => {
        event.preventDefault()
        onFilled(new FormData(event.currentTarget), event.currentTarget)
      }}
    />
  )
}
