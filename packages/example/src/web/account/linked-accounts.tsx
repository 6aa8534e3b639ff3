import { Text } from '@radix-ui/themes'
import { useSensitive } from '@sallyport/trpc/react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useAppAuth, useTRPC } from '../clients.ts'
import { openProvider, useProviderError } from '../provider-result.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Problem } from '../ui/problem.tsx'
import { ACCOUNTS_KEY, useAccounts } from './use-ways.ts'

/** The password and the accounts at providers. */
export function LinkedAccounts() {
  const query = useAccounts()
  const trpc = useTRPC()
  const { data: demo } = useQuery(trpc.demo.queryOptions())
  const failure = useProviderError()
  return (
    <Loaded query={query} what="your accounts">
      {({ accounts }) => (
        <>
          <ul className="rows" aria-label="Password and providers">
            {accounts.map(({ id, provider }) => (
              <li key={id} className="row">
                <Text size="2">{NAMES[provider] ?? provider}</Text>
                {provider !== 'credential' && <Unlink accountId={id} />}
              </li>
            ))}
          </ul>
          <Problem error={failure} />
          {demo && !accounts.some(({ provider }) => provider === 'demo') && <LinkDemo />}
        </>
      )}
    </Loaded>
  )
}

const NAMES: Readonly<Record<string, string>> = { credential: 'Password', demo: 'Demo provider' }

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
  const queryClient = useQueryClient()
  const unlink = useMutation({
    mutationFn: () => run(() => client.api.unlinkAccount({ accountId })),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ACCOUNTS_KEY }),
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
