import { Text } from '@radix-ui/themes'
import { useQuery } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'
import { Loaded } from '../ui/loaded.tsx'
import { methodName } from '../ui/method-names.ts'
import { Rows } from '../ui/rows.tsx'
import type { AdminUser } from './admin-user.ts'

/** How a user can sign in, and their second factors. */
export function UserFactors({ user }: { readonly user: AdminUser }) {
  const trpc = useTRPC()
  const query = useQuery(trpc.admin.factors.queryOptions({ userId: user.id }))
  return (
    <Loaded query={query} what="the ways to sign in">
      {({ accounts, factors }) => (
        <Rows
          title="Ways to sign in"
          empty="This user has no password, provider, passkey, or authenticator app."
        >
          {[...new Set([...accounts.map(({ provider }) => provider), ...factors])].map((method) => (
            <li key={method} className="row">
              <Text size="2">{methodName(method)}</Text>
            </li>
          ))}
        </Rows>
      )}
    </Loaded>
  )
}
