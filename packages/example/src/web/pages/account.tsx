import { useQuery } from '@tanstack/react-query'
import { ApiKey } from '../account/api-key.tsx'
import { DeleteAccount } from '../account/delete-account.tsx'
import { Password } from '../account/password.tsx'
import { Profile } from '../account/profile.tsx'
import { useTRPC } from '../clients.ts'
import { PageHeading } from '../ui/page-heading.tsx'
import { Problem } from '../ui/problem.tsx'

export function Account() {
  const trpc = useTRPC()
  const { data: me, error } = useQuery(trpc.me.queryOptions())
  return (
    <div className="stack">
      <PageHeading title="Account">{me?.email}</PageHeading>
      <Problem error={error} />
      {me && <Profile name={me.name} locale={me.locale} />}
      <Password />
      <ApiKey />
      <DeleteAccount />
    </div>
  )
}
