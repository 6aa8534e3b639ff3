import { Button, Code, Flex, Text } from '@radix-ui/themes'
import { useSensitive } from '@sallyport/trpc/react'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { renderSVG } from 'uqr'
import { useAppAuth } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { CodeField } from '../ui/code-field.tsx'
import { Form } from '../ui/form.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Problem } from '../ui/problem.tsx'
import { Section } from '../ui/section.tsx'
import { useWaysChanged, useWaysToSignIn } from './use-ways-to-sign-in.ts'

/** Sets up and removes an authenticator app, and replaces its recovery codes. */
export function SecondFactor() {
  const query = useWaysToSignIn()
  // Shown until the user has saved them, whenever the query is fetched again.
  const [newCodes, setNewCodes] = useState<readonly string[]>([])
  return (
    <Section title="Second factor" hint="A code of an authenticator app, in addition to your password.">
      {newCodes.length > 0 ? (
        <RecoveryCodes codes={newCodes} onSaved={() => setNewCodes([])} />
      ) : (
        <Loaded query={query} what="your second factor">
          {({ totp: { enabledAt, recoveryCodes } }) =>
            enabledAt === null ? (
              <SetUp onConfirmed={setNewCodes} />
            ) : (
              <Manage recoveryCodes={recoveryCodes} onCreated={setNewCodes} />
            )
          }
        </Loaded>
      )}
    </Section>
  )
}

interface SetUpProps {
  readonly onConfirmed: (recoveryCodes: readonly string[]) => void
}

function SetUp({ onConfirmed }: SetUpProps) {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const begin = useMutation({ mutationFn: () => run(() => client.api.enableTotp()) })
  if (begin.data !== undefined) return <Confirm {...begin.data} onConfirmed={onConfirmed} />
  return (
    <div className="stack">
      <Problem error={begin.error} />
      <div>
        <ActionButton variant="soft" isPending={begin.isPending} onClick={() => begin.mutate()}>
          Set up an app
        </ActionButton>
      </div>
    </div>
  )
}

interface ConfirmProps extends SetUpProps {
  readonly uri: string
  readonly secret: string
}

function Confirm({ uri, secret, onConfirmed }: ConfirmProps) {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const waysChanged = useWaysChanged()
  const confirm = useMutation({
    // The session may have become too old meanwhile.
    mutationFn: (values: FormData) => run(() => client.api.confirmTotp({ code: String(values.get('code')) })),
    async onSuccess({ recoveryCodes }) {
      onConfirmed(recoveryCodes)
      await waysChanged()
    },
  })
  return (
    <Form onFilled={(values) => confirm.mutate(values)}>
      <Text as="p" size="2">
        Scan this code with your app, or enter the secret.
      </Text>
      <img className="qr-code" alt="QR code for your app" src={toImage(uri)} width={180} height={180} />
      <Code className="totp-secret">{secret}</Code>
      <CodeField autoFocus hint="The six digits that your app shows." />
      <Problem error={confirm.error} />
      <div>
        <ActionButton type="submit" isPending={confirm.isPending}>
          Confirm
        </ActionButton>
      </div>
    </Form>
  )
}

const toImage = (uri: string) => `data:image/svg+xml,${encodeURIComponent(renderSVG(uri, { border: 2 }))}`

interface RecoveryCodesProps {
  readonly codes: readonly string[]
  readonly onSaved: () => void
}

function RecoveryCodes({ codes, onSaved }: RecoveryCodesProps) {
  return (
    <div className="stack" role="status" tabIndex={-1} ref={focus}>
      <Text as="p" size="2">
        Keep these recovery codes. Each signs you in once without your app. You can't see them again.
      </Text>
      <ul className="recovery-codes">
        {codes.map((code) => (
          <li key={code}>
            <Code>{code}</Code>
          </li>
        ))}
      </ul>
      <div>
        <ActionButton variant="soft" isPending={false} onClick={onSaved}>
          I have saved them
        </ActionButton>
      </div>
    </div>
  )
}

/** The form that had the focus is gone. */
const focus = (element: HTMLElement | null) => element?.focus()

interface ManageProps {
  readonly recoveryCodes: number
  readonly onCreated: (recoveryCodes: readonly string[]) => void
}

/** Replaces the recovery codes, or removes the app. Both need a code. */
function Manage({ recoveryCodes, onCreated }: ManageProps) {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const waysChanged = useWaysChanged()
  const [action, setAction] = useState<'replace-codes' | 'remove' | null>(null)
  const send = useMutation({
    async mutationFn(values: FormData) {
      const input = { code: String(values.get('code')), revokeOtherSessions: false }
      if (action === 'remove') await run(() => client.api.disableTotp(input))
      else onCreated((await run(() => client.api.createRecoveryCodes({ code: input.code }))).recoveryCodes)
    },
    onSuccess: waysChanged,
  })
  const cancel = () => {
    setAction(null)
    send.reset()
  }
  return (
    <div className="stack">
      <Text as="p" size="2">
        Your app is set up. Recovery codes left: {recoveryCodes}.
      </Text>
      {action === null ? (
        <Flex gap="3" wrap="wrap">
          <Button variant="soft" onClick={() => setAction('replace-codes')}>
            New recovery codes
          </Button>
          <Button variant="soft" color="red" onClick={() => setAction('remove')}>
            Remove the app
          </Button>
        </Flex>
      ) : (
        <Form onFilled={(values) => send.mutate(values)}>
          <CodeField autoFocus />
          <Problem error={send.error} />
          <Flex gap="3">
            <ActionButton
              type="submit"
              variant="soft"
              color={action === 'remove' ? 'red' : 'indigo'}
              isPending={send.isPending}
            >
              {action === 'remove' ? 'Remove the app' : 'Create recovery codes'}
            </ActionButton>
            <Button type="button" variant="soft" color="gray" onClick={cancel}>
              Cancel
            </Button>
          </Flex>
        </Form>
      )}
    </div>
  )
}
