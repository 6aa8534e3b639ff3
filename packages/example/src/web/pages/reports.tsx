import { Card, Flex, Progress, Text } from '@radix-ui/themes'
import { useMutation, useMutationState, useQuery, useQueryClient } from '@tanstack/react-query'
import { useSubscription } from '@trpc/tanstack-react-query'
import { useTRPC } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Done } from '../ui/done.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Problem } from '../ui/problem.tsx'
import { Rows } from '../ui/rows.tsx'
import { Time } from '../ui/time.tsx'

export function Reports() {
  const trpc = useTRPC()
  const { data: reports, error } = useQuery(trpc.report.list.queryOptions())
  return (
    <div className="stack">
      <PageHeading title="Reports">
        Written by an action: it calls an outside service, and stops when your session ends or this page is
        closed.
      </PageHeading>
      <OrderReport />
      <Problem error={error} />
      {reports && (
        <Rows title="Your reports" empty="None yet.">
          {reports.toReversed().map(({ id, title, text, createdAt }) => (
            <Card key={id} asChild>
              <li>
                <Text as="p" weight="medium">
                  {title}
                </Text>
                <Text as="p" size="2">
                  {text}
                </Text>
                <Text as="p" size="1" color="gray">
                  <Time value={createdAt} />
                </Text>
              </li>
            </Card>
          ))}
        </Rows>
      )}
    </div>
  )
}

function OrderReport() {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  const generate = useMutation(
    trpc.report.generate.mutationOptions({
      onSuccess: () => queryClient.invalidateQueries(trpc.report.list.queryFilter()),
    }),
  )
  // Also what was ordered before the user went to another page and came back.
  const orders = useMutationState({
    filters: { mutationKey: trpc.report.generate.mutationKey() },
    select: ({ state: { status, error, variables } }) => ({
      status,
      error,
      ...(variables as typeof generate.variables),
    }),
  })
  const latest = orders.at(-1)
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
      {orders.map(
        ({ status, id, title }) =>
          status === 'pending' && id && title && <ReportProgress key={id} id={id} title={title} />,
      )}
      <Done message={latest?.status === 'success' && `“${latest.title}” is written.`} />
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
        Writing “{title}” … {percent} %
      </Text>
      <Progress value={percent} aria-label={`Writing ${title}`} />
    </div>
  )
}
