import { Card, Flex, Text } from '@radix-ui/themes'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Problem } from '../ui/problem.tsx'
import { Rows } from '../ui/rows.tsx'
import { Time } from '../ui/time.tsx'

export function Notes() {
  const trpc = useTRPC()
  const { data: notes, error } = useQuery(trpc.notes.list.queryOptions())
  return (
    <div className="stack">
      <PageHeading title="Notes">Yours alone, and live in all your browsers.</PageHeading>
      <AddNote />
      <Problem error={error} />
      {notes && (
        <Rows title="Your notes" empty="None yet. The first one appears here.">
          {notes.toReversed().map((note) => (
            <Note key={note.id} {...note} />
          ))}
        </Rows>
      )}
    </div>
  )
}

function AddNote() {
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
        <Field label="New note" name="text" autoComplete="off" required />
        <ActionButton type="submit" isPending={add.isPending}>
          Add
        </ActionButton>
      </Flex>
      <Problem error={add.error} />
    </Form>
  )
}

interface NoteProps {
  readonly id: string
  readonly text: string
  readonly createdAt: string
}

function Note({ id, text, createdAt }: NoteProps) {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  const remove = useMutation(
    trpc.notes.remove.mutationOptions({
      onSettled: () => queryClient.invalidateQueries(trpc.notes.list.queryFilter()),
    }),
  )
  return (
    <Card asChild>
      <li className="tile">
        <div className="row">
          <div>
            <Text as="p">{text}</Text>
            <Text as="p" size="1" color="gray">
              <Time value={createdAt} />
            </Text>
          </div>
          <ActionButton
            variant="soft"
            color="gray"
            aria-label={`Remove: ${text}`}
            isPending={remove.isPending}
            onClick={() => remove.mutate({ id })}
          >
            Remove
          </ActionButton>
        </div>
        <Problem error={remove.error} />
      </li>
    </Card>
  )
}
