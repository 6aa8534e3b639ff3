import { Card, Text } from '@radix-ui/themes'
import { useSensitive } from '@sallyport/trpc/react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { Rows } from '../ui/rows.tsx'
import { Time } from '../ui/time.tsx'
import { sentenceOf } from './sentence.tsx'

/** The audit trail. The server shows it to fresh admins; a button asks the others for their password. */
export function AuditTrail() {
  const queryClient = useQueryClient()
  const { run } = useSensitive()
  const options = useTRPC().admin.audit.queryOptions()
  const { data: records = [], error, isSuccess } = useQuery(options)
  const confirm = useMutation({
    mutationFn: () => run(() => queryClient.fetchQuery({ ...options, staleTime: 0 })),
  })
  const isNotFresh = error?.data?.auth?.reason === 'SESSION_NOT_FRESH'
  return (
    <>
      {isNotFresh ? (
        <div>
          <ActionButton variant="soft" isPending={confirm.isPending} onClick={() => confirm.mutate()}>
            {isSuccess ? 'Update the audit trail' : 'Show the audit trail'}
          </ActionButton>
        </div>
      ) : (
        <Problem error={error} />
      )}
      <Rows
        title="Audit trail"
        empty={isNotFresh ? 'Confirm that it is you to read it.' : 'Nothing has happened yet.'}
      >
        {records.map((record) => (
          <Card asChild key={record.id} size="1">
            <li className="record">
              <Text size="2">{sentenceOf(record)}</Text>
              <Text size="1" color="gray">
                <Time value={record.createdAt} />
              </Text>
            </li>
          </Card>
        ))}
      </Rows>
    </>
  )
}
