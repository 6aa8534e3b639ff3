import { Loaded } from '../ui/loaded.tsx'
import { Section } from '../ui/section.tsx'
import { LinkedAccounts } from './linked-accounts.tsx'
import { Passkeys } from './passkeys.tsx'
import { useWaysToSignIn } from './use-ways-to-sign-in.ts'
import { Username } from './username.tsx'

/** Adds and removes ways to sign in. */
export function WaysToSignIn() {
  const query = useWaysToSignIn()
  return (
    <Section title="Ways to sign in" hint="Keep two, in case you lose one. The last one can't be removed.">
      <Loaded query={query} what="your ways to sign in">
        {({ username, accounts, passkeys }) => (
          <div className="stack">
            <Username username={username} />
            <LinkedAccounts accounts={accounts} />
            <Passkeys passkeys={passkeys} />
          </div>
        )}
      </Loaded>
    </Section>
  )
}
