import { useAppAuth } from '../clients.ts'
import { LinkAction } from '../ui/link-action.tsx'

export function UndoEmailChange() {
  const { client } = useAppAuth()
  return (
    <LinkAction
      title="Undo the email change"
      description="Restores your former email, signs out all browsers, and removes passkeys, providers, and apps that were added recently. You then get a link for a new password."
      action="Restore email"
      success="Your former email is restored."
      run={(token) => client.api.undoEmailChange({ token })}
    />
  )
}
