import { Badge, Table as RadixTable } from '@radix-ui/themes'
import { useTRPCClient } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Empty } from '../ui/empty.tsx'
import { Problem } from '../ui/problem.tsx'
import { Table } from '../ui/table.tsx'
import { useChange } from '../use-change.ts'

interface OrganizationTableProps {
  readonly organizations: readonly { readonly id: string; readonly name: string; readonly role: string }[]
  readonly activeId: string | null
}

export function OrganizationTable({ organizations, activeId }: OrganizationTableProps) {
  const client = useTRPCClient()
  const activate = useChange('organizations', (organizationId: string) =>
    client.organizations.activate.mutate({ organizationId }),
  )
  if (organizations.length === 0)
    return <Empty>No organizations yet. Create one above, or open an invitation.</Empty>
  return (
    <>
      <Problem error={activate.error} />
      <Table label="Your organizations" columns={['Name', 'Your role', 'This session']}>
        {organizations.map(({ id, name, role }) => (
          <RadixTable.Row key={id} align="center">
            <RadixTable.RowHeaderCell>{name}</RadixTable.RowHeaderCell>
            <RadixTable.Cell>{role}</RadixTable.Cell>
            <RadixTable.Cell>
              {id === activeId ? (
                <Badge color="green">Active</Badge>
              ) : (
                <ActionButton
                  size="1"
                  variant="soft"
                  aria-label={`Switch to ${name}`}
                  isPending={activate.isPending && activate.variables === id}
                  onClick={() => activate.mutate(id)}
                >
                  Switch
                </ActionButton>
              )}
            </RadixTable.Cell>
          </RadixTable.Row>
        ))}
      </Table>
    </>
  )
}
