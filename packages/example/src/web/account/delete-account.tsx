import { AlertDialog, Button, Flex } from '@radix-ui/themes'
import { useSensitive } from '@sallyport/trpc/react'
import { useMutation } from '@tanstack/react-query'
import { useAppAuth } from '../clients.ts'
import { DELETE_ACCOUNT } from '../ended.tsx'
import { ActionButton } from '../ui/action-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { Section } from '../ui/section.tsx'

export function DeleteAccount() {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const remove = useMutation({
    mutationKey: DELETE_ACCOUNT,
    mutationFn: () => run(() => client.api.deleteUser()),
  })
  return (
    <Section title="Delete account" hint="With all notes and reports, in all browsers, for good.">
      <div className="stack">
        <Problem error={remove.error} />
        <AlertDialog.Root>
          <div>
            <AlertDialog.Trigger>
              <ActionButton variant="soft" color="red" isPending={remove.isPending}>
                Delete account
              </ActionButton>
            </AlertDialog.Trigger>
          </div>
          <AlertDialog.Content maxWidth="26rem">
            <AlertDialog.Title>Delete your account?</AlertDialog.Title>
            <AlertDialog.Description size="2">
              Your notes and reports go with it, and every browser of yours is signed out. Nothing brings them
              back.
            </AlertDialog.Description>
            <Flex gap="3" mt="4" justify="end">
              <AlertDialog.Cancel>
                <Button variant="soft" color="gray">
                  Keep it
                </Button>
              </AlertDialog.Cancel>
              <AlertDialog.Action>
                <Button variant="soft" color="red" onClick={() => remove.mutate()}>
                  Delete
                </Button>
              </AlertDialog.Action>
            </Flex>
          </AlertDialog.Content>
        </AlertDialog.Root>
      </div>
    </Section>
  )
}
