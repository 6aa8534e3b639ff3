import { Button, Dialog, Flex } from '@radix-ui/themes'
import { ActionButton } from './action-button.tsx'

interface DialogActionsProps {
  /** The label of the button that sends the form. */
  readonly action: string
  readonly isPending: boolean
}

/** The buttons below a form in a dialog, for an action that can't be undone. */
export function DialogActions({ action, isPending }: DialogActionsProps) {
  return (
    <Flex gap="3" justify="end">
      <Dialog.Close>
        <Button type="button" variant="soft" color="gray">
          Cancel
        </Button>
      </Dialog.Close>
      <ActionButton type="submit" variant="soft" color="red" isPending={isPending}>
        {action}
      </ActionButton>
    </Flex>
  )
}
