import { Card, Text } from '@radix-ui/themes'
import { useQuery } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'
import { Problem } from '../ui/problem.tsx'
import { Rows } from '../ui/rows.tsx'
import { Time } from '../ui/time.tsx'
import { sentenceOf } from './sentence.tsx'

/** What has happened to sessions and users. It is written in the transaction of each change. */
export function AuditTrail() {
  const trpc = useTRPC()
  const { data: records = [], error } = useQuery(trpc.admin.audit.queryOptions())
  return (
    <>
      <Problem error={error} />
      <Rows title="Audit trail" empty="Nothing has happened yet.">
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
