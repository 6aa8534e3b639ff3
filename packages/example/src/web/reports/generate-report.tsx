import { Flex, Progress, Text } from '@radix-ui/themes'
import { useMutation, useMutationState, useQueryClient } from '@tanstack/react-query'
import { useSubscription } from '@trpc/tanstack-react-query'
import { useTRPC } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Problem } from '../ui/problem.tsx'
import { SuccessMessage } from '../ui/success.tsx'

export function GenerateReport() {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  const generate = useMutation(
    trpc.report.generate.mutationOptions({
      onSuccess: () => queryClient.invalidateQueries(trpc.report.list.queryFilter()),
    }),
  )
  // Includes requests from before the user visited another page.
  const requests = useMutationState({
    filters: { mutationKey: trpc.report.generate.mutationKey() },
    select: ({ state: { status, error, variables } }) => ({
      status,
      error,
      ...(variables as typeof generate.variables),
    }),
  })
  const latest = requests.at(-1)
  return (
    <Form
      onFilled={(values, form) =>
        generate.mutate(
          { id: crypto.randomUUID(), title: String(values.get('title')) },
          { onSuccess: () => form?.reset() },
        )
      }
    >
      <Flex gap="3" align="end">
        <Field label="Title" name="title" autoComplete="off" required />
        <ActionButton type="submit" isPending={generate.isPending}>
          Generate
        </ActionButton>
      </Flex>
      {requests.map(
        ({ status, id, title }) =>
          status === 'pending' && id && title && <ReportProgress key={id} id={id} title={title} />,
      )}
      <SuccessMessage message={latest?.status === 'success' && `“${latest.title}” is ready.`} />
      <Problem error={latest?.error} />
    </Form>
  )
}

function ReportProgress({ id, title }: { readonly id: string; readonly title: string }) {
  const trpc = useTRPC()
  const { data: percent = 0 } = useSubscription(trpc.report.progress.subscriptionOptions({ id }))
  return (
    <div className="field">
      <Text as="p" size="2" color="gray">
        Writing “{title}” … {percent}%
      </Text>
      <Progress value={percent} aria-label={`Writing ${title}`} />
    </div>
  )
}
