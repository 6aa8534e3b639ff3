import { Card } from '@radix-ui/themes'
import { useMutation } from '@tanstack/react-query'
import { useAppAuth } from '../clients.ts'
import { challengeOf, SecondStep } from '../second-step.tsx'
import { ActionButton } from '../ui/action-button.tsx'
import { readLinkToken } from '../ui/link-token.ts'
import { PageHeading } from '../ui/page-heading.tsx'
import { Problem } from '../ui/problem.tsx'

/** Signs in with the link from an email. Works only in the browser that requested it. */
export function EmailLink() {
  const { client } = useAppAuth()
  const signIn = useMutation({
    mutationFn: async () => client.api.signInEmailCode({ token: readLinkToken() }),
  })
  const challenge = challengeOf(signIn.error)
  return (
    <div className="narrow">
      <PageHeading title="Sign in by email" />
      <Card size="3">
        {challenge === null ? (
          <div className="stack">
            <Problem error={signIn.error} />
            <ActionButton isPending={signIn.isPending} onClick={() => signIn.mutate()}>
              Sign in
            </ActionButton>
          </div>
        ) : (
          <SecondStep challenge={challenge} onExpired={signIn.reset} />
        )}
      </Card>
    </div>
  )
}
