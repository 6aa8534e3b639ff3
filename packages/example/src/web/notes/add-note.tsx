import { Flex } from '@radix-ui/themes'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Problem } from '../ui/problem.tsx'

export function AddNote() {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  const add = useMutation(
    trpc.notes.add.mutationOptions({
      onSuccess: () => queryClient.invalidateQueries(trpc.notes.list.queryFilter()),
    }),
  )
  return (
    <Form
      onFilled={(values, form) =>
        add.mutate({ text: String(values.get('text')) }, { onSuccess: () => form?.reset() })
      }
    >
      <Flex gap="3" align="end">
        <Field label="New note" name="text" autoComplete="off" maxLength={2_000} required />
        <ActionButton type="submit" isPending={add.isPending}>
          Add
        </ActionButton>
      </Flex>
      <Problem error={add.error} />
    </Form>
  )
}
