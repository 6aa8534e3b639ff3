import { useAppAuth } from '../clients.ts'
import { LinkAction } from '../ui/link-action.tsx'

export function VerifyEmail() {
  const { client } = useAppAuth()
  return (
    <LinkAction
      title="Confirm your email"
      description="Confirms that you receive the emails of this address."
      action="Confirm email"
      success="Your email is confirmed."
      run={(token, input) => client.api.verifyEmail({ token, ...input })}
    />
  )
}
