import { useAppAuth } from '../clients.ts'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { useChange } from '../use-change.ts'

export function RevokeOthers() {
  const { client } = useAppAuth()
  const revoke = useChange('sessions', () => client.api.revokeOtherSessions())
  return (
    <div>
      <ConfirmButton
        title="Revoke all other sessions?"
        description="All your other browsers are signed out at once. You stay signed in here."
        action="Revoke sessions"
        isPending={revoke.isPending}
        onConfirm={() => revoke.mutate()}
      >
        Revoke all other sessions
      </ConfirmButton>
      <Problem error={revoke.error} />
    </div>
  )
}
