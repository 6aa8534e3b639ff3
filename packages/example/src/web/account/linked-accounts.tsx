import { Text } from '@radix-ui/themes'
import type { AccountResponse } from '@sallyport/core/plugins/oauth'
import { useSensitive } from '@sallyport/trpc/react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useAppAuth, useTRPC } from '../clients.ts'
import { openProvider, useProviderError } from '../provider-result.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { methodName } from '../ui/method-names.ts'
import { Problem } from '../ui/problem.tsx'
import { useWaysChanged } from './use-ways-to-sign-in.ts'

/** The password and the accounts at providers. */
export function LinkedAccounts({ accounts }: { readonly accounts: readonly AccountResponse[] }) {
  const trpc = useTRPC()
  const { data: demo } = useQuery(trpc.demo.queryOptions())
  const failure = useProviderError()
  return (
    <>
      <ul className="rows" aria-label="Password and providers">
        {accounts.map(({ id, provider }) => (
          <li key={id} className="row">
            <Text size="2">{methodName(provider)}</Text>
            {provider !== 'credential' && <Unlink accountId={id} />}
          </li>
        ))}
      </ul>
      <Problem error={failure} />
      {demo && !accounts.some(({ provider }) => provider === 'demo') && <LinkDemo />}
    </>
  )
}

function LinkDemo() {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const link = useMutation({
    mutationFn: () => run(() => client.api.linkAccount({ provider: 'demo', redirectTo: '/account' })),
    onSuccess: openProvider,
  })
  return (
    <>
      <Problem error={link.error} />
      <div>
        <ActionButton variant="soft" isPending={link.isPending} onClick={() => link.mutate()}>
          Link the demo provider
        </ActionButton>
      </div>
    </>
  )
}

function Unlink({ accountId }: { readonly accountId: string }) {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const onSuccess = useWaysChanged()
  const unlink = useMutation({
    mutationFn: () => run(() => client.api.unlinkAccount({ accountId })),
    onSuccess,
  })
  return (
    <>
      <Problem error={unlink.error} />
      <ActionButton variant="soft" color="red" isPending={unlink.isPending} onClick={() => unlink.mutate()}>
        Unlink
      </ActionButton>
    </>
  )
}
