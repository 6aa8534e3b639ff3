import { Flex, Separator } from '@radix-ui/themes'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useAppAuth, useTRPC } from './clients.ts'
import { EmailCode, type useCodeSignIn } from './email-code.tsx'
import { usePasskeySignIn } from './passkey-sign-in.ts'
import { openProvider, useProviderError } from './provider-result.ts'
import { ActionButton } from './ui/action-button.tsx'
import { Problem } from './ui/problem.tsx'

interface OtherWaysProps {
  readonly next: string
  readonly withCode: ReturnType<typeof useCodeSignIn>
}

/** Signs in with a passkey, the provider, or a code, or continues without an account. */
export function OtherWays({ next, withCode }: OtherWaysProps) {
  const { client } = useAppAuth()
  const trpc = useTRPC()
  const { data: demo } = useQuery(trpc.demo.queryOptions())
  const failure = useProviderError()
  const withPasskey = usePasskeySignIn()
  const withProvider = useMutation({
    mutationFn: () =>
      client.api.signInOauth({
        provider: 'demo',
        // The server rejects other sites.
        redirectTo: next,
        errorTo: `/sign-in?${new URLSearchParams({ next })}`,
      }),
    onSuccess: openProvider,
  })
  const withoutAccount = useMutation({ mutationFn: () => client.api.signInAnonymous() })
  return (
    <>
      <Separator size="4" my="4" />
      <div className="stack">
        <Problem error={withPasskey.error ?? withProvider.error ?? withoutAccount.error ?? failure} />
        <Flex gap="3" wrap="wrap">
          <ActionButton
            variant="soft"
            isPending={withPasskey.isPending}
            onClick={() => withPasskey.mutate(undefined)}
          >
            Sign in with a passkey
          </ActionButton>
          {demo && (
            <ActionButton
              variant="soft"
              isPending={withProvider.isPending}
              onClick={() => withProvider.mutate()}
            >
              Sign in with the demo provider
            </ActionButton>
          )}
          <ActionButton
            variant="soft"
            isPending={withoutAccount.isPending}
            onClick={() => withoutAccount.mutate()}
          >
            Continue without an account
          </ActionButton>
        </Flex>
        <EmailCode signIn={withCode} />
      </div>
    </>
  )
}
