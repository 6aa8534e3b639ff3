import { Button, Callout, Code, Flex } from '@radix-ui/themes'
import { useSensitive } from '@sallyport/trpc/react'
import { useMutation } from '@tanstack/react-query'
import { useTRPCClient } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Done } from '../ui/done.tsx'
import { Problem } from '../ui/problem.tsx'
import { Section } from '../ui/section.tsx'

/** Behind `freshProcedure`: who has signed in more than a minute ago is asked for the password first. */
export function ApiKey() {
  const { run } = useSensitive()
  const client = useTRPCClient()
  const rotate = useMutation({ mutationFn: () => run(() => client.account.rotateApiKey.mutate()) })
  return (
    <Section
      title="API key"
      hint="A new one takes the place of the one before. You may be asked for your password."
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
      <Callout.Text>Copy it now: it is not shown again.</Callout.Text>
      <Code className="api-key">{apiKey}</Code>
      <Flex gap="3" align="center">
        <Button variant="soft" size="1" onClick={() => copy.mutate()}>
          Copy
        </Button>
        <Done message={copy.isSuccess && 'Copied.'} />
        <Problem error={copy.isError && 'The browser does not let the page copy it.'} />
      </Flex>
    </Callout.Root>
  )
}
