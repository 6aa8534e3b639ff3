import { Card, Text } from '@radix-ui/themes'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { Time } from '../ui/time.tsx'

interface NoteProps {
  readonly id: string
  readonly text: string
  readonly createdAt: string
}

export function Note({ id, text, createdAt }: NoteProps) {
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
