import { useTRPCClient } from '../clients.ts'
import { LinkAction } from '../ui/link-action.tsx'

/** The page that the link of an invitation opens. Guests sign in or sign up first. */
export function Join() {
  const client = useTRPCClient()
  return (
    <LinkAction
      title="Invitation"
      description="You were invited to join an organization. Only the account with the invited email can accept."
      action="Accept invitation"
      success="You are a member of the organization."
      link={{ to: '/organizations', label: 'Go to your organizations' }}
      run={(token) => client.organizations.join.mutate({ token })}
    />
  )
}
