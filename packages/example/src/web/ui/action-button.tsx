import { Button } from '@radix-ui/themes'
import type { ComponentProps } from 'react'

type ActionButtonProps = Omit<ComponentProps<typeof Button>, 'loading' | 'disabled'> & {
  readonly isPending: boolean
}

/**
 * A button that ignores clicks while its action is pending. It isn't disabled, because that would remove the
 * focus.
 */
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
