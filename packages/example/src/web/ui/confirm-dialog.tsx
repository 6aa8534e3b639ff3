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
import { Problem, passwordProblem } from './problem.tsx'

/**
 * Asks for the password, or for the second factor, when the server rejects a call because it needs a recent
 * proof. One serves the whole app.
 */
export function ConfirmDialog() {
  const { isAsking, required, confirm, cancel, error } = useSensitive()
  const { client, signOut } = useAppAuth()
  const needsCode = required !== null && required.factor !== null
  const { accounts } = useWaysToSignIn({ enabled: isAsking }).data ?? {}
  const trpc = useTRPC()
  const { data: me } = useQuery(trpc.me.queryOptions())
  const hasPassword = accounts?.some(({ provider }) => provider === 'credential') ?? true
  const { title, description, hasForm } = needsCode ? CODE : hasPassword ? PASSWORD : NEITHER
  const signInAgain = () => {
    cancel()
    void signOut()
  }
  const before = useRef<HTMLElement>(null)
  const send = useMutation({
    mutationFn: (values: FormData) =>
      confirm(
        needsCode
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
        <Dialog.Title>{title}</Dialog.Title>
        <Dialog.Description size="2" mb="4">
          {description}
        </Dialog.Description>
        <ConfirmOtherwise />
        <Form onFilled={(values) => send.mutate(values)}>
          {needsCode && <CodeField hint="A code of your app, or a recovery code." />}
          {!needsCode && hasPassword && (
            <Field
              label="Password"
              name="password"
              type="password"
              autoComplete="current-password"
              required
            />
          )}
          <Problem error={passwordProblem(error)} />
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
            {hasForm && (
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
  hasForm: true,
}

const PASSWORD = {
  title: 'Confirm your password',
  description: 'This action requires a recent sign-in. It continues after you enter your password.',
  hasForm: true,
}

/** For users without a password. */
const NEITHER = {
  title: 'Confirm that it is you',
  description: 'This action requires a recent sign-in. It continues after you confirm.',
  hasForm: false,
}
