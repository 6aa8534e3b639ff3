import { Code, Table as RadixTable } from '@radix-ui/themes'
import { Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import type { AuditRecord } from './admin-user.ts'
import { sentenceOf } from './sentence.tsx'

export function AuditTable({ records }: { readonly records: readonly AuditRecord[] }) {
  return (
    <Table label="Audit trail" columns={['When', 'Event', 'Type']}>
      {records.map((record) => (
        <RadixTable.Row key={record.id}>
          <RadixTable.Cell>
            <Time value={record.createdAt} />
          </RadixTable.Cell>
          <RadixTable.Cell className="event">{sentenceOf(record)}</RadixTable.Cell>
          <RadixTable.Cell>
            <Code variant="ghost">{record.type}</Code>
          </RadixTable.Cell>
        </RadixTable.Row>
      ))}
    </Table>
  )
}
