import { Section } from '../ui/section.tsx'
import { LinkedAccounts } from './linked-accounts.tsx'
import { Passkeys } from './passkeys.tsx'

/** Adds and removes ways to sign in. */
export function WaysToSignIn() {
  return (
    <Section title="Ways to sign in" hint="Keep two, in case you lose one. The last one can't be removed.">
      <div className="stack">
        <LinkedAccounts />
        <Passkeys />
      </div>
    </Section>
  )
}
