import { Button, Dialog, Flex } from '@radix-ui/themes'
import { useSensitive } from '@sallyport/trpc/react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useRef } from 'react'
import { useWaysToSignIn } from '../account/use-ways-to-sign-in.ts'
import { useAppAuth, useTRPC } from '../clients.ts'
import { ActionButton } from './action-button.tsx'
import { CodeField } from './code-field.tsx'
import { ConfirmOtherwise } from './confirm-otherwise.tsx'
import { Field } from './field.tsx'
import { Form } from './form.tsx'
import { Problem } from './problem.tsx'

type Factor = NonNullable<ReturnType<typeof useSensitive>['required']>['factor']
type Ways = ReturnType<typeof useWaysToSignIn>['data']

/**
 * Asks for the password, or for the second factor, when the server rejects a call because it needs a recent
 * proof. One serves the whole app.
 */
export function ConfirmDialog() {
  const { isAsking, required, confirm, cancel, error } = useSensitive()
  const { client, signOut } = useAppAuth()
  const { data: ways } = useWaysToSignIn({ enabled: isAsking })
  const trpc = useTRPC()
  const { data: me } = useQuery(trpc.me.queryOptions())
  const question = questionFor(required?.factor ?? null, ways)
  const signInAgain = () => {
    cancel()
    void signOut()
  }
  const before = useRef<HTMLElement>(null)
  const send = useMutation({
    mutationFn: (values: FormData) =>
      confirm(
        question === CODE
          ? () => client.api.reauthenticateTotp({ code: String(values.get('code')) })
          : { password: String(values.get('password')) },
      ),
  })
  return (
    <Dialog.Root open={isAsking} onOpenChange={(isOpen) => isOpen || cancel()}>
      <Dialog.Content
        maxWidth="24rem"
        onOpenAutoFocus={() => {
          before.current = document.activeElement instanceof HTMLElement ? document.activeElement : null
        }}
        onCloseAutoFocus={(event) => {
          // The dialog has no trigger that could get the focus back.
          event.preventDefault()
          const { current } = before
          ;(current?.isConnected ? current : document.getElementById('main'))?.focus()
        }}
      >
        <Dialog.Title>{question.title}</Dialog.Title>
        <Dialog.Description size="2" mb="4">
          {question.description}
        </Dialog.Description>
        <ConfirmOtherwise />
        <Form onFilled={(values) => send.mutate(values)}>
          {question === CODE && <CodeField />}
          {question === PASSWORD && (
            <Field
              label="Password"
              name="password"
              type="password"
              autoComplete="current-password"
              required
            />
          )}
          <Problem error={error} />
          <Flex gap="3" justify="end" wrap="wrap">
            {/* A new sign-in starts a fresh session. Without an account, it would lead to another user. */}
            {me?.isAnonymous === false && (
              <Button type="button" variant="soft" color="gray" onClick={signInAgain}>
                Sign in again
              </Button>
            )}
            <Button type="button" variant="soft" color="gray" onClick={cancel}>
              Cancel
            </Button>
            {(question === CODE || question === PASSWORD) && (
              <ActionButton type="submit" isPending={send.isPending}>
                Confirm
              </ActionButton>
            )}
          </Flex>
        </Form>
      </Dialog.Content>
    </Dialog.Root>
  )
}

const CODE = {
  title: 'Confirm with a code',
  description: 'This action requires your second factor. It continues after you enter a code.',
}

const PASSKEY = {
  title: 'Confirm with a passkey',
  description: 'This action requires your second factor. It continues after you use a passkey.',
}

const PASSWORD = {
  title: 'Confirm your password',
  description: 'This action requires a recent sign-in. It continues after you enter your password.',
}

/** For users without a password. */
const NEITHER = {
  title: 'Confirm that it is you',
  description: 'This action requires a recent sign-in. It continues after you confirm.',
}

const MISSING = {
  title: 'Add a second factor',
  description:
    'This action requires a second factor. Add a passkey or an authenticator app on the Account page first.',
}

/**
 * Returns which question to ask: for the required factor if the user has it, or for the password if none is
 * required.
 */
function questionFor(factor: Factor | null, ways: Ways | undefined) {
  const { accounts, passkeys = [], totp } = ways ?? {}
  const hasPassword = accounts?.some(({ provider }) => provider === 'credential') ?? true
  if (factor === null) return hasPassword ? PASSWORD : NEITHER
  if (factor !== 'passkey' && totp?.enabledAt !== null) return CODE
  return factor !== 'totp' && passkeys.length > 0 ? PASSKEY : MISSING
}
