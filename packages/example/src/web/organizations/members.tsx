import { Heading, Table as RadixTable } from '@radix-ui/themes'
import { useQuery } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'
import { Loaded } from '../ui/loaded.tsx'
import { Table } from '../ui/table.tsx'

/** The members of the active organization. */
export function Members({ name }: { readonly name: string }) {
  const trpc = useTRPC()
  const query = useQuery(trpc.organizations.members.queryOptions())
  return (
    <>
      <Heading as="h2" size="3" mt="3">
        Members of {name}
      </Heading>
      <Loaded query={query} what="members">
        {(members) => (
          <Table label={`Members of ${name}`} columns={['Name', 'Email', 'Role']}>
            {members.map((member) => (
              <RadixTable.Row key={member.id}>
                <RadixTable.RowHeaderCell>{member.name}</RadixTable.RowHeaderCell>
                <RadixTable.Cell>{member.email}</RadixTable.Cell>
                <RadixTable.Cell>{member.role}</RadixTable.Cell>
              </RadixTable.Row>
            ))}
          </Table>
        )}
      </Loaded>
    </>
  )
}
