import { AlertDialog, Button, Flex } from '@radix-ui/themes'
import type { ComponentProps, ReactNode } from 'react'
import { ActionButton } from './action-button.tsx'

interface ConfirmButtonProps
  extends Pick<ComponentProps<typeof ActionButton>, 'isPending' | 'size' | 'color' | 'id'> {
  readonly 'aria-label'?: string
  readonly 'aria-labelledby'?: string
  readonly children: ReactNode
  readonly title: string
  readonly description: string
  /** The label of the button that confirms. */
  readonly action: string
  readonly onConfirm: () => void
}

/** A button that asks for a confirmation before it acts. */
export function ConfirmButton(props: ConfirmButtonProps) {
  const { children, title, description, action, onConfirm, color = 'red', ...button } = props
  return (
    <AlertDialog.Root>
      <AlertDialog.Trigger>
        <ActionButton variant="soft" color={color} {...button}>
          {children}
        </ActionButton>
      </AlertDialog.Trigger>
      <AlertDialog.Content maxWidth="26rem">
        <AlertDialog.Title>{title}</AlertDialog.Title>
        <AlertDialog.Description size="2">{description}</AlertDialog.Description>
        <Flex gap="3" mt="4" justify="end">
          <AlertDialog.Cancel>
            <Button variant="soft" color="gray">
              Cancel
            </Button>
          </AlertDialog.Cancel>
          <AlertDialog.Action>
            <Button color={color} variant="soft" onClick={() => button.isPending || onConfirm()}>
              {action}
            </Button>
          </AlertDialog.Action>
        </Flex>
      </AlertDialog.Content>
    </AlertDialog.Root>
  )
}
