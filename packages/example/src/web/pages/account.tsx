import { useQuery } from '@tanstack/react-query'
import { ApiKey } from '../account/api-key.tsx'
import { DeleteAccount } from '../account/delete-account.tsx'
import { Devices } from '../account/devices.tsx'
import { Password } from '../account/password.tsx'
import { Profile } from '../account/profile.tsx'
import { SecondFactor } from '../account/second-factor.tsx'
import { Upgrade } from '../account/upgrade.tsx'
import { WaysToSignIn } from '../account/ways-to-sign-in.tsx'
import { useTRPC } from '../clients.ts'
import { Loaded } from '../ui/loaded.tsx'
import { PageHeading } from '../ui/page-heading.tsx'

export function Account() {
  const trpc = useTRPC()
  const query = useQuery(trpc.me.queryOptions())
  return (
    <div className="stack">
      <PageHeading title="Account">{query.data?.isAnonymous === false && query.data.email}</PageHeading>
      <Loaded query={query} what="your account">
        {({ name, locale, isAnonymous }) =>
          isAnonymous ? (
            <Upgrade />
          ) : (
            <>
              <Profile name={name} locale={locale} />
              <Password />
              <WaysToSignIn />
              <SecondFactor />
              <Devices />
            </>
          )
        }
      </Loaded>
      <ApiKey />
      <DeleteAccount />
    </div>
  )
}
