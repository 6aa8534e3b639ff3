import { Button, Callout, Code, Flex } from '@radix-ui/themes'
import { useSensitive } from '@sallyport/trpc/react'
import { useMutation } from '@tanstack/react-query'
import { useTRPCClient } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { Section } from '../ui/section.tsx'
import { SuccessMessage } from '../ui/success.tsx'

/** Uses `freshProcedure`: it needs a confirmation if the last sign-in is more than a minute ago. */
export function ApiKey() {
  const { run } = useSensitive()
  const client = useTRPCClient()
  const rotate = useMutation({ mutationFn: () => run(() => client.account.rotateApiKey.mutate()) })
  return (
    <Section
      title="API key"
      hint="A new key replaces the current one. You may have to confirm that it is you."
    >
      <div className="stack">
        {rotate.data && <NewKey key={rotate.data.apiKey} apiKey={rotate.data.apiKey} />}
        <Problem error={rotate.error} />
        <div>
          <ActionButton variant="soft" isPending={rotate.isPending} onClick={() => rotate.mutate()}>
            New API key
          </ActionButton>
        </div>
      </div>
    </Section>
  )
}

function NewKey({ apiKey }: { readonly apiKey: string }) {
  const copy = useMutation({ mutationFn: () => navigator.clipboard.writeText(apiKey) })
  return (
    <Callout.Root color="green" role="status">
      <Callout.Text>Copy this key now. You can't see it again.</Callout.Text>
      <Code className="api-key">{apiKey}</Code>
      <Flex gap="3" align="center">
        <Button variant="soft" size="1" onClick={() => copy.mutate()}>
          Copy
        </Button>
        <SuccessMessage message={copy.isSuccess && 'Copied.'} />
        <Problem error={copy.isError && 'The browser blocked copying. Select the key and copy it by hand.'} />
      </Flex>
    </Callout.Root>
  )
}
