import { Button } from '@radix-ui/themes'
import type { ComponentProps } from 'react'

type ActionButtonProps = Omit<ComponentProps<typeof Button>, 'loading' | 'disabled'> & {
  readonly isPending: boolean
}

/** A button whose action takes a while. It does nothing meanwhile, yet is not disabled: that would take the focus from it. */
export function ActionButton({ isPending, onClick, ...button }: ActionButtonProps) {
  return (
    <Button
      {...button}
      loading={isPending}
      disabled={false}
      aria-disabled={isPending}
      onClick={(event) => (isPending ? event.preventDefault() : onClick?.(event))}
    />
  )
}
